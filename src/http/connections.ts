import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The connections of a listener: which of them have work in them, and so are kept. */
export interface Connections {
  /** A request on it is in work. */
  begin(socket: Socket): void;
  /** One of its requests is answered, or over. */
  end(socket: Socket): void;
}

/**
 * Bounds the connections of a server: past `max` the one that was longest without a request in work is closed, so that
 * a flood of idle ones keeps nobody out. Where all have work in them it is the new one.
 */
export function boundConnections(server: Server, max: number): Connections {
  // In the order in which they were last used. Both together hold at most `max` entries.
  const idle = new Set<Socket>();
  const busy = new Map<Socket, number>();

  server.on('connection', (socket: Socket) => {
    idle.add(socket);
    socket.once('close', () => {
      idle.delete(socket);
      busy.delete(socket);
    });
    const [oldest] = idle;
    if (idle.size + busy.size > max && oldest !== undefined) {
      idle.delete(oldest);
      oldest.destroy();
    }
  });
  server.on('request', ({ socket }: { readonly socket: Socket }) => {
    if (idle.delete(socket)) {
      idle.add(socket);
    }
  });

  return {
    begin: (socket) => {
      idle.delete(socket);
      busy.set(socket, (busy.get(socket) ?? 0) + 1);
    },
    end: (socket) => {
      const count = busy.get(socket) ?? 0;
      if (count > 1) {
        busy.set(socket, count - 1);
      } else if (busy.delete(socket) && !socket.destroyed) {
        idle.add(socket);
      }
    },
  };
}
