import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';

/** Marks of life of the processes that share one SQLite ledger: a file each, locked while its process lives. */
export interface InstanceLocks {
  /** Locks the file of `instance`; without effect when this process holds it. */
  claim(instance: string): void;
  /** Whether any process holds the file of `instance`. */
  isHeld(instance: string): boolean;
  /** Removes the file of an instance that is gone. */
  forget(instance: string): void;
  close(): void;
}

/**
 * The kernel drops a process's file locks with the process, however it ended, so a start after `kill -9` knows
 * at once which permits are orphans, and a process that merely hangs or whose clock jumped is never taken for
 * dead. Process ids could not tell: containers on one volume have their own. Node has no file locks; an
 * exclusive SQLite transaction on an empty file takes the same POSIX lock the ledger itself relies on (local
 * disks only). Nothing else in this process may open these files: closing them would drop the lock.
 */
export function createInstanceLocks(directory: string): InstanceLocks {
  // One entry in the service (one instance a process); bounded by the meters that are made.
  const held = new Map<string, Database.Database>();
  const pathOf = (instance: string) =>
    join(directory, `${createHash('sha256').update(instance).digest('hex').slice(0, 32)}.lock`);

  return {
    claim(instance) {
      if (held.has(instance)) return;
      mkdirSync(directory, { recursive: true });
      const lock = tryLock(pathOf(instance));
      if (lock === null) {
        throw new Error('Another process runs under this instance name: give each process its own.');
      }
      held.set(instance, lock);
    },
    isHeld(instance) {
      if (held.has(instance)) return true;
      // Opening would create the file of a process that has left.
      if (!existsSync(pathOf(instance))) return false;
      const lock = tryLock(pathOf(instance));
      if (lock === null) return true;
      lock.close();
      return false;
    },
    forget(instance) {
      const lock = held.get(instance);
      held.delete(instance);
      rmSync(pathOf(instance), { force: true });
      lock?.close();
    },
    close() {
      for (const lock of held.values()) lock.close();
      held.clear();
    },
  };
}

function tryLock(path: string): Database.Database | null {
  // Only exec is used on it: a prepared statement would keep the lock past close(), until it is collected.
  const lock = new Database(path, { timeout: 0 });
  try {
    // Nothing is ever written, so a journal file would only be left lying about.
    lock.exec('pragma journal_mode = memory');
    lock.exec('begin exclusive');
    return lock;
  } catch (error) {
    lock.close();
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return null;
    throw error;
  }
}
