import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import Docker from 'dockerode';
import {
  modulesJson,
  SANDBOX_IMAGE_FOLDER,
  sandboxImageFiles,
  sandboxImageTag,
} from '../src/sandbox/image.ts';
import { baseImage, hasImage } from './base.ts';
import { dockerBuild } from './docker-build.ts';

const BUILTIN_PACK = fileURLToPath(new URL('../src/prompt/packs/python-stdlib/', import.meta.url));

/** The module names of a pack folder's table. Refuses a folder without one. */
function packModules(folder: string): string[] {
  const file = join(folder, 'pack.json');
  const pack: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const modules = typeof pack === 'object' && pack !== null && 'modules' in pack ? pack.modules : null;
  if (typeof modules !== 'object' || modules === null) throw new Error(`${file} has no object "modules"`);
  return Object.keys(modules);
}

/** The context is the image's sources and `modules.json`, nothing else of the folder. */
async function build(docker: Docker, tag: string, base: string, modules: readonly string[]): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'compute-step-image-'));
  try {
    writeFileSync(join(scratch, 'modules.json'), modulesJson(modules));
    const context = ['-C', SANDBOX_IMAGE_FOLDER, ...sandboxImageFiles(), '-C', scratch, 'modules.json'];
    await dockerBuild(docker, { context, tag, args: { BASE_IMAGE: base } });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Makes the sandbox image for a pack if the engine does not have it. Says which. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { pack: { type: 'string' }, base: { type: 'string' } } });
  const modules = packModules(values.pack ?? BUILTIN_PACK);
  const tag = sandboxImageTag(modules);
  const docker = new Docker();
  if (await hasImage(docker, tag)) {
    console.log(`the sandbox image ${tag} is there`);
    return;
  }
  console.log(`building the sandbox image ${tag}`);
  await build(docker, tag, values.base ?? process.env.BASE_IMAGE ?? (await baseImage(docker)), modules);
}

try {
  await main();
} catch (error) {
  console.error(`sandbox image: ${error instanceof Error ? error.message : String(error)}`);
  // What was cut off may still hold a socket or a process: the one line is said, nothing is waited for.
  process.exit(1);
}
