import { spawn } from 'node:child_process';
import type Docker from 'dockerode';

/** Minutes where packages come over a slow line; an emulated machine needs many. */
const BUILD_MS = 1_800_000;
/** Arguments that Docker knows by itself; they reach the build's commands and are not kept in the image. */
const PROXY_SETTINGS = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];

export interface Build {
  /** What is sent to the engine, as arguments of `tar`: `-C <folder> <file>…`, as often as needed. */
  readonly context: readonly string[];
  /** Path of the Dockerfile in it. */
  readonly dockerfile?: string;
  readonly tag: string;
  readonly args: Readonly<Record<string, string>>;
}

/** Builds through the engine's API, so that no docker command is needed. Throws with the end of the build's output. */
export async function dockerBuild(docker: Docker, build: Build): Promise<void> {
  const buildargs: Record<string, string> = { ...build.args };
  for (const name of PROXY_SETTINGS) {
    const value = process.env[name];
    if (value !== undefined) buildargs[name] = value;
  }
  const tar = spawn('tar', ['-c', ...build.context], { stdio: ['ignore', 'pipe', 'inherit'] });
  const cut = new AbortController();
  const packed = new Promise<void>((resolve, reject) => {
    tar.once('error', (error) => reject(new Error(`tar cannot be run (${error.message})`)));
    tar.once('close', (status) => (status === 0 ? resolve() : reject(new Error(`tar ended with ${status}`))));
  });
  const late = AbortSignal.timeout(BUILD_MS);
  // A build of half a context would look like a fault of the Dockerfile, if it failed at all.
  packed.catch(() => cut.abort());
  const ended = AbortSignal.any([late, cut.signal]);
  const built = buildFrom(docker, tar.stdout, { ...build, buildargs }, ended);
  await Promise.all([packed, built]).catch((error: unknown) => {
    throw late.aborted ? new Error(`the build took longer than ${BUILD_MS} ms`) : error;
  });
}

async function buildFrom(
  docker: Docker,
  context: NodeJS.ReadableStream,
  { tag, dockerfile, buildargs }: Omit<Build, 'context' | 'args'> & { buildargs: Record<string, string> },
  abortSignal: AbortSignal,
): Promise<void> {
  const progress = await docker.buildImage(context, {
    t: tag,
    ...(dockerfile === undefined ? {} : { dockerfile }),
    buildargs,
    forcerm: true,
    abortSignal,
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
    abortSignal.addEventListener('abort', () => reject(new Error('the build was called off')));
  });
}
