import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ADMITTED_BUILTINS } from './admission/builtins.ts';
import type { Clock } from './clock.ts';
import type { SandboxConfig } from './config.ts';
import { BUILT_IN_PACK_DIR, loadPack, type Pack, PackFault } from './prompt/pack.ts';
import { createDockerSandbox } from './sandbox/docker.ts';
import { SANDBOX_IMAGE_FOLDER, sandboxImageTag } from './sandbox/image.ts';
import type { SandboxObserver } from './sandbox/observer.ts';
import type { Sandbox } from './sandbox/port.ts';

/** The most printed output and exception text that a run brings back. */
export const DETAIL_MAX_BYTES = 8 * 1024;

/** Loads the pack in force, or answers its faults by the setting's name. */
export async function packOf(dir: string | null, faults: string[]): Promise<Pack | null> {
  return loadPack(dir ?? BUILT_IN_PACK_DIR).catch((error: unknown) => {
    if (!(error instanceof PackFault)) {
      throw error;
    }
    faults.push(...error.faults.map((fault) => `PROMPT_PACK_DIR: ${fault}`));
    return null;
  });
}

/**
 * The sandbox that holds the engine, in whichever process: `sandboxd`, or `serve` where it has none. Every setting of
 * a container comes from here. Throws where DOCKER_HOST names no engine that it can speak to.
 */
export function engineSandbox(
  config: SandboxConfig,
  pack: Pack,
  clock: Clock,
  observer: SandboxObserver,
  instanceId: string = randomUUID(),
): Sandbox {
  return createDockerSandbox({
    dockerHost: config.DOCKER_HOST,
    image: config.SANDBOX_IMAGE ?? sandboxImageTag(Object.keys(pack.modules)),
    instanceId,
    seccomp: readFileSync(`${SANDBOX_IMAGE_FOLDER}seccomp.json`, 'utf8'),
    setup: { modules: pack.modules, builtins: [...ADMITTED_BUILTINS] },
    memoryMb: config.SANDBOX_MEMORY_MB,
    cpus: config.SANDBOX_CPUS,
    wallSeconds: config.SANDBOX_WALL_SECONDS,
    runtime: config.SANDBOX_RUNTIME,
    poolSize: config.SANDBOX_POOL_SIZE,
    maxConcurrency: config.SANDBOX_MAX_CONCURRENCY,
    queueLimit: config.SANDBOX_QUEUE_LIMIT,
    clock,
    observer,
  });
}
