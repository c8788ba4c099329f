import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import Docker from 'dockerode';
import { dockerBuild } from '../sandbox-image/docker-build.ts';
import { boundedCall } from '../src/sandbox/engine-call.ts';
import { nodeBase } from './node-base.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** What the Dockerfile takes from the project; its packages and its build are made here. */
const SOURCES = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'sandbox-image',
  'src',
  'deploy/Dockerfile',
  'deploy/health.mjs',
  'deploy/ledger.mjs',
];
/** The engine's names of processors, and npm's. */
const NPM_CPU: Readonly<Record<string, string>> = { amd64: 'x64', arm64: 'arm64' };
const STEP_MS = 600_000;

/** Runs a command of the build. What it says is shown only where it fails, in the error. */
function run(command: string, args: readonly string[], cwd: string): void {
  const ended = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    timeout: STEP_MS,
    maxBuffer: 16 * 1024 * 1024,
  });
  if (ended.status === 0) return;
  const said = `${ended.stdout ?? ''}${ended.stderr ?? ''}`.trim().slice(-1000);
  throw new Error(`${command} ${args[0]} failed: ${ended.error?.message ?? said}`);
}

/**
 * Packages and build are made on this machine, where npm and its registry (or its cache) are, for the engine's
 * processor; the image's build then needs neither.
 */
function stage(context: string, cpu: string): void {
  for (const path of SOURCES) {
    mkdirSync(join(context, path, '..'), { recursive: true });
    cpSync(join(ROOT, path), join(context, path), { recursive: true });
  }
  // The build needs this project's packages, the image only those of production.
  symlinkSync(join(ROOT, 'node_modules'), join(context, 'node_modules'));
  run('npm', ['run', 'build'], context);
  unlinkSync(join(context, 'node_modules'));
  const target = ['--os=linux', `--cpu=${cpu}`, '--libc=glibc'];
  run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', ...target], context);
}

/** The build's own stage stays on the engine without a name, as large as Node and every package together. */
async function removeStages(docker: Docker): Promise<void> {
  const filters = { dangling: ['true'], label: ['compute-step.stage=build'] };
  const abortSignal = AbortSignal.timeout(120_000);
  const images = await docker.listImages({ filters: JSON.stringify(filters), abortSignal });
  for (const { Id: id } of images) {
    // Another build may be at work on it, or may have removed it.
    await docker
      .getImage(id)
      .remove({ abortSignal })
      .catch(() => undefined);
  }
}

/** Builds the service's image, as `compute-step:<version>` or as COMPUTE_STEP_IMAGE names it for compose.yaml. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { 'node-image': { type: 'string' } } });
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const docker = new Docker();
  const { Arch: arch } = await boundedCall(30_000, undefined, () => docker.version());
  const cpu = NPM_CPU[arch];
  if (cpu === undefined) throw new Error(`the engine runs on ${arch}; amd64 and arm64 are supported`);
  const tag = process.env.COMPUTE_STEP_IMAGE ?? `compute-step:${version}`;
  const base = values['node-image'] ?? process.env.NODE_IMAGE ?? (await nodeBase(docker));
  console.log(`building ${tag} on ${base}`);
  const context = mkdtempSync(join(tmpdir(), 'compute-step-service-'));
  try {
    stage(context, cpu);
    const args = { NODE_IMAGE: base, VERSION: version };
    await dockerBuild(docker, { context: ['-C', context, '.'], dockerfile: 'deploy/Dockerfile', tag, args });
  } finally {
    // Neither hides why the build failed, nor leaves the folder.
    await removeStages(docker).catch(() => undefined);
    rmSync(context, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  console.error(`service image: ${error instanceof Error ? error.message : String(error)}`);
  // What was cut off may still hold a socket or a process: the one line is said, nothing is waited for.
  process.exit(1);
}
