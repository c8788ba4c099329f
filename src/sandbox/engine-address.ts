/** Where the container engine listens. */
export type EngineAddress =
  | { readonly kind: 'unix'; readonly socketPath: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

const DEFAULT_SOCKET = '/var/run/docker.sock';
/** The port Docker's own tools take for plain TCP where none is given. */
const DEFAULT_PORT = 2375;

/**
 * Reads an engine's address as DOCKER_HOST has it: `unix:///path`, `tcp://host:port` or `http://host:port`;
 * null or empty is the local socket. Throws on anything else (ssh, TLS and named pipes are not supported).
 */
export function parseEngineAddress(text: string | null): EngineAddress {
  if (text === null || text === '') {
    return { kind: 'unix', socketPath: DEFAULT_SOCKET };
  }
  if (text.startsWith('unix://')) {
    const socketPath = text.slice('unix://'.length);
    if (!socketPath.startsWith('/')) {
      throw new Error('DOCKER_HOST must name an absolute path, such as unix:///var/run/docker.sock');
    }
    return { kind: 'unix', socketPath };
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url?.protocol === 'tcp:' || url?.protocol === 'http:';
  if (url === null || !plain || url.hostname === '' || !['', '/'].includes(url.pathname)) {
    throw new Error('DOCKER_HOST must be unix:///path, tcp://host:port or http://host:port');
  }
  const port = url.port === '' ? (url.protocol === 'http:' ? 80 : DEFAULT_PORT) : Number(url.port);
  return { kind: 'tcp', host: url.hostname, port };
}
