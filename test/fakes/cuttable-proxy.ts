import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP port that leads to a Unix socket, until it is cut. */
export interface CuttableProxy {
  readonly port: number;
  /** Resets every connection and takes no more. */
  cut(): Promise<void>;
  /** Takes connections again, on the same port. */
  mend(): Promise<void>;
  /** From now on passes nothing on, and closes nothing either. */
  freeze(): void;
}

/** Listens on a free loopback port. */
export async function startProxy(socketPath: string): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    const far = connect(socketPath);
    keep(near);
    keep(far);
    near.pipe(far).on('close', () => near.destroy());
    far.pipe(near).on('close', () => far.destroy());
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async cut() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    mend: () => listen(port),
    freeze() {
      for (const socket of sockets) socket.unpipe().pause();
      server.removeAllListeners('connection').on('connection', keep);
    },
  };
}
