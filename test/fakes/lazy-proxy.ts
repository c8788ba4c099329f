import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A TCP proxy as the one of a published port: it passes the end of a direction on, and finds out that its client is
 * gone only when the next bytes for it fail.
 */
export async function startLazyProxy(target: number): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    keep(near);
    keep(far);
    near.on('data', (bytes) => far.write(bytes)).on('end', () => far.end());
    far.on('data', (bytes) => near.write(bytes)).on('end', () => near.end());
    near.on('close', () => far.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
