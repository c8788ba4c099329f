import { execFileSync } from 'node:child_process';

/**
 * A memory limit, in MB, that no other service on this engine is likely to have: it tells a test's own containers
 * from those of others, as the instance on their label is made anew by each service.
 */
export function ownMemoryMb(): number {
  return 130 + (process.pid % 120);
}

export interface OwnContainer {
  readonly id: string;
  readonly instance: string;
  readonly running: boolean;
  /** 0 while it runs. */
  readonly exitCode: number;
}

/** The containers with our label and this memory limit. */
export function ownContainers(memoryMb: number): OwnContainer[] {
  const ids = docker('ps', '-aq', '--filter', 'label=compute-step');
  if (ids === '') return [];
  const format =
    '{{.Id}} {{index .Config.Labels "compute-step.instance"}} {{.State.Running}} {{.State.ExitCode}} {{.HostConfig.Memory}}';
  return inspect(ids.split('\n'), format)
    .map((line) => line.split(' '))
    .filter(([, , , , memory]) => Number(memory) === memoryMb * 1024 * 1024)
    .map(([id = '', instance = '', running, exitCode]) => ({
      id,
      instance,
      running: running === 'true',
      exitCode: Number(exitCode),
    }));
}

/** Removes what a killed service left behind, which its successors would at its expiry. */
export function removeContainers(containers: readonly OwnContainer[]): void {
  for (const { id } of containers) {
    try {
      docker('rm', '-f', id);
    } catch {}
  }
}

function inspect(ids: readonly string[], format: string): string[] {
  return ids.flatMap((id) => {
    try {
      return [docker('inspect', '--format', format, id)];
    } catch {
      // It has gone between the list and the look.
      return [];
    }
  });
}

function docker(...args: readonly string[]): string {
  return execFileSync('docker', [...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
