import { existsSync, lstatSync, type Stats, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';

/** Why the daemon cannot listen: one line that names the setting and the fix. */
export class SocketFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SocketFault';
  }
}

/** With it a new socket has the mode 0660: its owner and its group may connect, nobody else. */
const SOCKET_UMASK = 0o117;
const PROBE_MS = 1000;

const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist: make it',
  EACCES: 'its folder may not be written: give this user the right to',
  EROFS: 'its folder is read-only: choose another path',
  EADDRINUSE: 'another process took the path just now: leave one of the two',
};

/**
 * Listens on a Unix socket of mode 0660, whatever the umask of the process. The file that a dead daemon left behind is
 * replaced; a socket that somebody listens on, or a file that is no socket, is refused. Rejects with a SocketFault.
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  try {
    await listen(server, path);
    return;
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE') {
      throw faultOf(error, path);
    }
  }
  await removeStale(path);
  await listen(server, path).catch((error: unknown) => {
    throw faultOf(error, path);
  });
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const onListening = (): void => {
      server.off('error', reject);
      resolve();
    };
    // The file is made within this call; a chmod after it would leave a moment in which anybody may connect.
    const before = process.umask(SOCKET_UMASK);
    try {
      server.listen({ path, backlog: 511 }, onListening);
    } finally {
      process.umask(before);
    }
  });
}

async function removeStale(path: string): Promise<void> {
  const found = statOf(path);
  if (found === null) {
    return;
  }
  if (!found.isSocket()) {
    throw new SocketFault('SANDBOXD_SOCKET is a file that is no socket: choose another path');
  }
  if (await isHeld(path)) {
    throw new SocketFault('SANDBOXD_SOCKET is held by a running sandboxd: stop it or choose another path');
  }
  // Still the one that was asked: not that of a daemon which has started meanwhile.
  const now = statOf(path);
  if (now !== null && now.ino === found.ino && now.ctimeMs === found.ctimeMs) {
    unlinkSync(path);
  }
}

/** Whether somebody listens; in doubt (no answer, no right to ask) somebody does. */
function isHeld(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const answer = (held: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(held);
    };
    const timer = setTimeout(() => answer(true), PROBE_MS);
    socket.once('connect', () => answer(true));
    socket.once('error', (error) => answer(codeOf(error) !== 'ECONNREFUSED'));
  });
}

function statOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown';
}

function faultOf(error: unknown, path: string): SocketFault {
  // Node says EACCES for a folder that is not there, too.
  const code = existsSync(dirname(path)) ? codeOf(error) : 'ENOENT';
  return new SocketFault(
    `SANDBOXD_SOCKET cannot be listened on (${code}): ${FAULTS[code] ?? 'check the path'}`,
  );
}
