import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestProject } from 'vitest/node';
import { newFolder, removePostgres, startPostgres } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresFolder: string;
  }
}

/** Gives the test files of a run one folder for one server, and removes it at the end. */
export default function setup(project: TestProject): () => Promise<void> {
  const folder = newFolder();
  project.provide('postgresFolder', folder);
  return async () => {
    await removePostgres(join(folder, 'server'));
    rmSync(folder, { recursive: true, force: true });
  };
}

/** The socket folder of the run's server, which the first test file that asks starts. */
export async function sharedPostgres(folder: string): Promise<string> {
  const server = join(folder, 'server');
  const up = join(server, 'up');
  try {
    mkdirSync(join(folder, 'starting'));
  } catch {
    for (let waited = 0; !existsSync(up); waited += 1) {
      if (waited === 1200) throw new Error('PostgreSQL was not started by the test file that set out to');
      await sleep(50);
    }
    return server;
  }
  await startPostgres(server);
  writeFileSync(up, '');
  return server;
}
