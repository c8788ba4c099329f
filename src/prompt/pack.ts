import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Manifest, readManifest } from './manifest.ts';
import { placeholderFaults } from './template.ts';

/** A prompt pack: the templates and the modules a function may use. */
export interface Pack extends Manifest {
  /** `sha256:…`, see `packDigest`. */
  readonly digest: string;
  /** Template of the system part. */
  readonly system: string;
  /** Template of the user part. */
  readonly user: string;
}

/** The pack in force unless PROMPT_PACK_DIR names another; the path holds from the sources and from dist. */
export const BUILT_IN_PACK_DIR = fileURLToPath(
  new URL('../../src/prompt/packs/python-stdlib/', import.meta.url),
);

/** The files of a pack, in the order of their names. Others in the folder are neither read nor digested. */
export const PACK_FILES = ['pack.json', 'system.md', 'user.md'] as const;
type PackFile = (typeof PACK_FILES)[number];

/** A pack's file is read up to this many bytes; a larger one is a fault. */
const MAX_FILE_BYTES = 256 * 1024;

/** A pack that cannot be used, with every fault: file, field, fix. */
export class PackFault extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(`the prompt pack has faults:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'PackFault';
    this.faults = faults;
  }
}

/**
 * Loads and validates the pack in the folder `dir`: `pack.json` (name, version, language, modules), `system.md`,
 * `user.md`. Throws a PackFault that names every fault: a missing, large or non-UTF-8 file, a wrong field, an
 * unknown placeholder, a required one that is missing.
 */
export async function loadPack(dir: string): Promise<Pack> {
  const faults: string[] = [];
  const files: Awaited<ReturnType<typeof readPackFile>>[] = [];
  // One after the other: the faults stand in the order of the files, whichever is read faster.
  for (const name of PACK_FILES) {
    files.push(await readPackFile(dir, name, faults));
  }
  const text = Object.fromEntries(
    files.map(({ name, bytes }) => [name, bytes === null ? null : decode(name, bytes, faults)]),
  ) as Record<PackFile, string | null>;

  const manifest = text['pack.json'] === null ? null : readManifest(text['pack.json'], faults);
  const system = text['system.md'];
  const user = text['user.md'];
  if (system !== null && user !== null) faults.push(...placeholderFaults({ system, user }));
  if (manifest === null || system === null || user === null || faults.length > 0) throw new PackFault(faults);
  return Object.freeze({
    ...manifest,
    digest: packDigest(files.map(({ name, bytes }) => ({ name, bytes: bytes ?? Buffer.alloc(0) }))),
    system,
    user,
  });
}

/**
 * `sha256:` and the SHA-256 in hex over the files in order of their names, each framed as its name, a NUL, the
 * number of its bytes in decimal, a NUL, its bytes: no two packs share a digest by moving bytes between files.
 */
export function packDigest(files: readonly { readonly name: string; readonly bytes: Buffer }[]): string {
  const hash = createHash('sha256');
  for (const { name, bytes } of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    hash.update(`${name}\0${bytes.byteLength}\0`).update(bytes);
  }
  return `sha256:${hash.digest('hex')}`;
}

async function readPackFile(
  dir: string,
  name: PackFile,
  faults: string[],
): Promise<{ readonly name: PackFile; readonly bytes: Buffer | null }> {
  try {
    const file = await open(join(dir, name));
    try {
      // One byte past the bound is read at most, so that a device or a huge file cannot fill the memory.
      const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
      let length = 0;
      while (length < buffer.byteLength) {
        const { bytesRead } = await file.read(buffer, length);
        if (bytesRead === 0) return { name, bytes: Buffer.from(buffer.subarray(0, length)) };
        length += bytesRead;
      }
      faults.push(`${name}: is larger than ${MAX_FILE_BYTES} bytes; shorten it`);
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    faults.push(`${name}: cannot be read (${code}); a pack holds ${PACK_FILES.join(', ')}`);
  }
  return { name, bytes: null };
}

function decode(name: PackFile, bytes: Buffer, faults: string[]): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replaceAll('\r\n', '\n').trimEnd();
    if (text !== '') return text;
    faults.push(`${name}: is empty`);
  } catch {
    faults.push(`${name}: is not UTF-8; save it as UTF-8`);
  }
  return null;
}
