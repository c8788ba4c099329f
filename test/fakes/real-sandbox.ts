import { readFileSync } from 'node:fs';
import { ADMITTED_BUILTINS } from '../../src/admission/builtins.ts';
import type { DockerSandboxOptions } from '../../src/sandbox/docker.ts';
import { SANDBOX_IMAGE_FOLDER, sandboxImageTag } from '../../src/sandbox/image.ts';
import { sandboxSettings } from './sandbox-run.ts';

const PACK = new URL('../../src/prompt/packs/python-stdlib/pack.json', import.meta.url);

/** Settings of a sandbox on the machine's engine with the built image, its profile and the built-in pack. */
export function realSettings(more: Partial<DockerSandboxOptions> = {}): DockerSandboxOptions {
  const { modules } = JSON.parse(readFileSync(PACK, 'utf8')) as { modules: Record<string, string[]> };
  return sandboxSettings({
    dockerHost: process.env.DOCKER_HOST ?? null,
    image: sandboxImageTag(Object.keys(modules)),
    seccomp: readFileSync(`${SANDBOX_IMAGE_FOLDER}seccomp.json`, 'utf8'),
    setup: { modules, builtins: [...ADMITTED_BUILTINS] },
    memoryMb: 128,
    wallSeconds: 10,
    poolSize: 2,
    maxConcurrency: 2,
    queueLimit: 8,
    ...more,
  });
}
