import { spawn } from 'node:child_process';
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

/** Seconds where there is a processor; an emulated machine needs many minutes. */
const BUILD_MS = 1_800_000;
const BUILTIN_PACK = fileURLToPath(new URL('../src/prompt/packs/python-stdlib/', import.meta.url));
/** Arguments that Docker knows by itself; they reach the build's commands and are not kept in the image. */
const PROXY_SETTINGS = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];

/** The module names of a pack folder's table. Refuses a folder without one. */
function packModules(folder: string): string[] {
  const file = join(folder, 'pack.json');
  const pack: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const modules = typeof pack === 'object' && pack !== null && 'modules' in pack ? pack.modules : null;
  if (typeof modules !== 'object' || modules === null) throw new Error(`${file} has no object "modules"`);
  return Object.keys(modules);
}

/** The build's context as a tar stream: the image's sources and `modules.json`, nothing else of the folder. */
function contextTar(scratch: string): NodeJS.ReadableStream {
  const args = ['-c', '-C', SANDBOX_IMAGE_FOLDER, ...sandboxImageFiles(), '-C', scratch, 'modules.json'];
  return spawn('tar', args, { stdio: ['ignore', 'pipe', 'inherit'] }).stdout;
}

/** Builds through the engine's API, so that no docker command is needed. Throws with the end of the build's output. */
async function build(docker: Docker, tag: string, base: string, modules: readonly string[]): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'compute-step-image-'));
  try {
    writeFileSync(join(scratch, 'modules.json'), modulesJson(modules));
    const buildargs: Record<string, string> = { BASE_IMAGE: base };
    for (const name of PROXY_SETTINGS) {
      const value = process.env[name];
      if (value !== undefined) buildargs[name] = value;
    }
    const signal = AbortSignal.timeout(BUILD_MS);
    const progress = await docker.buildImage(contextTar(scratch), {
      t: tag,
      buildargs,
      forcerm: true,
      abortSignal: signal,
    });
    // The last lines only: a build's output has no bound.
    let output = '';
    await new Promise<void>((resolve, reject) => {
      docker.modem.followProgress(
        progress,
        (error) => (error ? reject(new Error(`${error.message}\n${output}`)) : resolve()),
        (event: { stream?: string }) => {
          output = `${output}${event.stream ?? ''}`.slice(-2000);
        },
      );
      signal.addEventListener('abort', () => reject(new Error(`the build took longer than ${BUILD_MS} ms`)));
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Makes the sandbox image for a pack if the engine does not have it. Says one line when it builds. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { pack: { type: 'string' }, base: { type: 'string' } } });
  const modules = packModules(values.pack ?? BUILTIN_PACK);
  const tag = sandboxImageTag(modules);
  const docker = new Docker();
  if (await hasImage(docker, tag)) return;
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
