import type { FastifyInstance } from 'fastify';

/** Closes a listener and its idle connections; who is in the middle of something then has `ms` milliseconds left. */
export async function closeListener(app: FastifyInstance, ms: number): Promise<void> {
  const cut = setTimeout(() => app.server.closeAllConnections(), ms);
  try {
    await app.close();
  } finally {
    clearTimeout(cut);
  }
}
