import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a broken engine does with the text it has received on one connection so far. */
export type SocketScript = (socket: Socket, received: string) => void;

export interface FaultySocket {
  /** Such as `unix:///tmp/…/engine.sock`. */
  readonly dockerHost: string;
  /** Text received by all connections so far. */
  readonly received: readonly string[];
  /** Connections there have been. */
  readonly connections: number;
  /** Connections that are open. */
  readonly open: number;
  close(): Promise<void>;
}

/** An HTTP answer with a JSON body. */
export function jsonReply(status: number, body: unknown): string {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** A Unix socket that answers as the script says: silence, half an answer, a reset. */
export async function startFaultySocket(script: SocketScript): Promise<FaultySocket> {
  const folder = mkdtempSync(join(tmpdir(), 'faulty-engine-'));
  const path = join(folder, 'engine.sock');
  const sockets = new Set<Socket>();
  const received: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      received.push(chunk.toString());
      script(socket, chunk.toString());
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    dockerHost: `unix://${path}`,
    received,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    async close() {
      for (const socket of sockets) {
        socket.destroy();
      }
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
