import { execFileSync } from 'node:child_process';

/** Names and states of all containers with our label, of whatever instance. */
export function labelledContainers(): string[] {
  const out = execFileSync(
    'docker',
    [
      'ps',
      '-a',
      '--filter',
      'label=compute-step',
      '--format',
      '{{.Names}} {{.State}} {{.Label "compute-step.instance"}}',
    ],
    {
      encoding: 'utf8',
    },
  );
  return out.split('\n').filter((line) => line !== '');
}
