import type { TestProject } from 'vitest/node';
import { ROOT, readmeCommand } from './readme.ts';
import { shell } from './shell.ts';

declare module 'vitest' {
  interface ProvidedContext {
    serviceImage: string;
  }
}

/**
 * Builds both images once for all files, by the README's commands (without `npm ci`, which whoever runs tests has done),
 * the service's under a name of this run; removes that one at the end. COMPUTE_STEP_IMAGE names an image that is there, and nothing is built.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await shell('bash test/deploy/compose.sh', { cwd: ROOT });
  const given = process.env.COMPUTE_STEP_IMAGE;
  if (given !== undefined) {
    project.provide('serviceImage', given);
    return async () => {};
  }
  const image = `compute-step:deploy-test-${process.pid}`;
  const build = readmeCommand('First start', 'deploy/image.ts').replace('npm ci\n', '');
  await shell(build, { cwd: ROOT, env: { COMPUTE_STEP_IMAGE: image } });
  project.provide('serviceImage', image);
  return async () => {
    await shell(`docker rmi ${image}`, { cwd: ROOT });
  };
}
