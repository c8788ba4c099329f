import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with the image's sources; at the same place beside `src` and `dist`. */
export const SANDBOX_IMAGE_FOLDER = fileURLToPath(new URL('../../sandbox-image/', import.meta.url));

/** What the image is built from besides the pack's module names: file names in the folder, sorted. */
export function sandboxImageFiles(folder: string = SANDBOX_IMAGE_FOLDER): readonly string[] {
  // Written by the image's build inside its own copy of the folder; here it would only be left over.
  const sources = readdirSync(folder).filter(
    (name) => name === 'Dockerfile' || (name.endsWith('.py') && name !== 'harness_grants.py'),
  );
  return sources.sort();
}

/**
 * The tag of the sandbox image for a pack's modules: `compute-step-sandbox:<16 hex digits>` of the SHA-256 over
 * every file of the image and the module names. A change of either is another tag, so a stale image never runs.
 */
export function sandboxImageTag(
  packModules: readonly string[],
  folder: string = SANDBOX_IMAGE_FOLDER,
): string {
  const digest = createHash('sha256');
  for (const name of sandboxImageFiles(folder)) {
    const bytes = readFileSync(join(folder, name));
    digest.update(`${name}\0${bytes.byteLength}\0`).update(bytes);
  }
  digest.update(modulesJson(packModules));
  return `compute-step-sandbox:${digest.digest('hex').slice(0, 16)}`;
}

/** The pack's module names as the image's build reads them: a JSON array, sorted, each once. */
export function modulesJson(packModules: readonly string[]): string {
  return JSON.stringify([...new Set(packModules)].sort());
}
