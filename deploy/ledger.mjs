// Copies a ledger in SQLite out of and into the service's volume, inside the image, where there is no shell:
//
//   node /app/ledger.mjs backup > file     while the service runs: one consistent state, checked before it is sent
//   node /app/ledger.mjs restore < file    while it does not: checked before it takes the ledger's place
//
// The ledger is that of LEDGER_URL. One in PostgreSQL is refused: pg_dump and pg_restore are for that.
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import Database from 'libsql';
import { loadLedgerUrl } from './dist/config.js';
import { parseLedgerUrl } from './dist/metering/ledger-url.js';

const BUSY_MS = 10_000;

/** Every page is read: a copy that is cut short or has a hole is no backup. */
function check(file) {
  const database = new Database(file, { timeout: BUSY_MS });
  try {
    const [{ integrity_check: verdict }] = database.prepare('pragma integrity_check').all([]);
    const [{ tables }] = database
      .prepare("select count(*) as tables from sqlite_master where type = 'table' and name = 'journal'")
      .all([]);
    if (verdict !== 'ok' || tables !== 1) throw new Error('it is no whole ledger');
  } finally {
    database.close();
  }
}

function remove(file) {
  rmSync(file, { force: true });
  removeLog(file);
}

function removeLog(file) {
  for (const name of [`${file}-wal`, `${file}-shm`]) rmSync(name, { force: true });
}

/** Takes what is in the log into the file, so that the file is whole without it. */
function settleLog(file) {
  if (!existsSync(file)) return;
  try {
    const database = new Database(file, { timeout: BUSY_MS });
    try {
      database.exec('pragma wal_checkpoint(truncate)');
    } finally {
      database.close();
    }
  } catch {
    // A ledger that cannot be read is what a backup is for.
  }
}

/** A service that lives holds a lock in this folder; see src/metering/instance-locks.ts. */
function inUse(ledger) {
  const folder = `${ledger}.instances`;
  if (!existsSync(folder)) return false;
  return readdirSync(folder).some((name) => {
    const lock = new Database(join(folder, name), { timeout: 0 });
    try {
      lock.exec('begin exclusive');
      lock.exec('rollback');
      return false;
    } catch {
      return true;
    } finally {
      lock.close();
    }
  });
}

async function backup(ledger) {
  if (!existsSync(ledger)) throw new Error('there is no ledger yet');
  // Beside the ledger: there is room for a file of that size, and the root is read-only.
  const copy = `${ledger}.backup-${process.pid}`;
  try {
    const database = new Database(ledger, { timeout: BUSY_MS });
    try {
      database.exec(`vacuum into '${copy.replaceAll("'", "''")}'`);
    } finally {
      database.close();
    }
    check(copy);
    await pipeline(createReadStream(copy), process.stdout);
  } finally {
    remove(copy);
  }
}

async function restore(ledger) {
  if (inUse(ledger)) throw new Error('the service is running: stop it first');
  mkdirSync(dirname(ledger), { recursive: true });
  const copy = `${ledger}.restore-${process.pid}`;
  try {
    await pipeline(process.stdin, createWriteStream(copy, { flush: true }));
    check(copy);
    // The log goes first, as it must not meet another file; the file is replaced at once, so that there always is one.
    settleLog(ledger);
    removeLog(ledger);
    renameSync(copy, ledger);
  } finally {
    remove(copy);
  }
}

try {
  const url = loadLedgerUrl();
  const ledger = typeof url === 'string' ? parseLedgerUrl(url) : { kind: 'invalid' };
  const verb = { backup, restore }[process.argv[2]];
  if (verb === undefined) throw new Error('say backup or restore');
  if (ledger.kind !== 'sqlite') throw new Error('LEDGER_URL names no SQLite file');
  await verb(ledger.path);
} catch (error) {
  process.stderr.write(`ledger: ${error.message}\n`);
  process.exitCode = 1;
}
