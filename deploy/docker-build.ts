import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type Docker from 'dockerode';

/** Minutes where packages come over a slow line; an emulated machine needs many. */
const BUILD_MS = 1_800_000;
/** Arguments that Docker knows by itself; they reach the build's commands and are not kept in the image. */
const PROXY_SETTINGS = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];

export interface Build {
  /** The folder that is sent to the engine as it is. */
  readonly context: string;
  /** Path of the Dockerfile in it. */
  readonly dockerfile: string;
  readonly tag: string;
  readonly args: Readonly<Record<string, string>>;
}

/** Builds through the engine's API, so that no docker command is needed. Throws with the end of the build's output. */
export async function dockerBuild(docker: Docker, build: Build): Promise<void> {
  if (!existsSync(build.context)) throw new Error(`${build.context} does not exist`);
  const buildargs: Record<string, string> = { ...build.args };
  for (const name of PROXY_SETTINGS) {
    const value = process.env[name];
    if (value !== undefined) buildargs[name] = value;
  }
  const tar = spawn('tar', ['-c', '-C', build.context, '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const signal = AbortSignal.timeout(BUILD_MS);
  const progress = await docker.buildImage(tar.stdout, {
    t: build.tag,
    dockerfile: build.dockerfile,
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
}
