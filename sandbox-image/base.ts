import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import type Docker from 'dockerode';
import { boundedCall, EngineError } from '../src/sandbox/engine-call.ts';

const DEBIAN = 'debian:trixie-slim';
/** Our own name: an image under Debian's would be taken for theirs. */
const OWN_BASE = 'compute-step-base:trixie';
/** A registry that cannot be reached is found out in seconds; one that is slow but answers gets this long. */
const PULL_MS = 120_000;
const PULL_SILENCE_MS = 15_000;
const MAKE_MS = 300_000;

/**
 * The name of a Debian trixie image on this engine: the one already there, else Debian's own pulled, else one made
 * here with mmdebstrap (Debian, root). Throws where none of these works, with the way out in the message.
 */
export async function baseImage(docker: Docker): Promise<string> {
  for (const name of [OWN_BASE, DEBIAN]) {
    if (await hasImage(docker, name)) return name;
  }
  if (await pull(docker, DEBIAN)) return DEBIAN;
  await make(docker);
  return OWN_BASE;
}

/** Whether the engine has an image of this name. Engine faults throw. */
export async function hasImage(docker: Docker, name: string): Promise<boolean> {
  try {
    await boundedCall(30_000, undefined, () => docker.getImage(name).inspect());
    return true;
  } catch (error) {
    if (error instanceof EngineError && error.status === 404) return false;
    throw error;
  }
}

/** False where it cannot be pulled, for whatever reason: the caller has another way. */
export async function pull(docker: Docker, name: string): Promise<boolean> {
  const abort = new AbortController();
  const total = setTimeout(() => abort.abort(), PULL_MS);
  let silence = setTimeout(() => abort.abort(), PULL_SILENCE_MS);
  try {
    const progress = await docker.pull(name, { abortSignal: abort.signal });
    abort.signal.addEventListener('abort', () =>
      (progress as NodeJS.ReadableStream & { destroy(): void }).destroy(),
    );
    progress.on('data', () => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), PULL_SILENCE_MS);
    });
    await finished(progress);
    return await hasImage(docker, name);
  } catch {
    return false;
  } finally {
    clearTimeout(total);
    clearTimeout(silence);
  }
}

async function make(docker: Docker): Promise<void> {
  const wayOut = `load an image ${DEBIAN} into the engine or name another with --base`;
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) {
    throw new Error(`${DEBIAN} cannot be pulled; ${wayOut} (on Debian as root it is made here)`);
  }
  if (spawnSync('mmdebstrap', ['--version']).error !== undefined) {
    const install =
      'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap';
    const installed = spawnSync('sh', ['-c', install], { stdio: 'ignore', timeout: MAKE_MS });
    if (installed.status !== 0) throw new Error(`mmdebstrap cannot be installed; ${wayOut}`);
  }
  const tool = spawn('mmdebstrap', ['--quiet', '--variant=apt', 'trixie', '-'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: MAKE_MS,
  });
  // The last of what it said, for the message; the rest is dropped.
  let said = '';
  tool.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-500);
  });
  const ended = new Promise<number | null>((resolve) => {
    tool.once('close', resolve).once('error', () => resolve(null));
  });
  // Under a name of its own until it is whole: a half-made base must never be found by the next build.
  const partial = `compute-step-base:partial-${process.pid}`;
  const [repo = '', tag = ''] = partial.split(':');
  const progress = await docker.importImage(tool.stdout, {
    repo,
    tag,
    abortSignal: AbortSignal.timeout(MAKE_MS),
  });
  progress.resume();
  await finished(progress);
  const image = docker.getImage(partial);
  try {
    if ((await ended) !== 0) throw new Error(`mmdebstrap failed (${said.trim()}); ${wayOut}`);
    const [ownRepo = '', ownTag = ''] = OWN_BASE.split(':');
    await image.tag({ repo: ownRepo, tag: ownTag, abortSignal: AbortSignal.timeout(30_000) });
  } finally {
    await image.remove({ abortSignal: AbortSignal.timeout(60_000) }).catch(() => undefined);
  }
}
