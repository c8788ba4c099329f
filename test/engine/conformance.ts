import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { CheckState } from '../../src/contract/readiness.ts';
import { LABEL_INSTANCE } from '../../src/sandbox/container-spec.ts';
import { createDockerSandbox, type DockerSandboxOptions } from '../../src/sandbox/docker.ts';
import { createDockerEngine, type Engine } from '../../src/sandbox/engine.ts';
import type { Sandbox } from '../../src/sandbox/port.ts';
import { compute } from '../fakes/python-functions.ts';
import { realSettings } from '../fakes/real-sandbox.ts';
import { lifecycleCases } from './lifecycle.ts';
import { outcomeCases, runIn, WALL_SECONDS } from './outcomes.ts';
import { inWords, runCases } from './report.ts';

/**
 * `npm run test:engine -- <socket> [--runtime name] [--image name] [--seccomp-path path]`: what the sandbox needs of
 * a container engine, tried on the one at that socket, which must have the sandbox image. Ends with 1 if anything does
 * not hold. With a path the profile is passed as that, as Podman wants it and the service does not do.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runtime: { type: 'string' }, image: { type: 'string' }, 'seccomp-path': { type: 'string' } },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const [socket = '/var/run/docker.sock'] = positionals;
const dockerHost = socket.includes('://') ? socket : `unix://${socket}`;
const instanceId = randomUUID();
const settings = realSettings({
  dockerHost,
  instanceId,
  runtime: values.runtime ?? null,
  wallSeconds: WALL_SECONDS,
  // Each run starts a container of its own: a stock would be started beside what is tried.
  poolSize: 0,
  ...(values['seccomp-path'] === undefined ? {} : { seccomp: values['seccomp-path'] }),
  ...(values.image === undefined ? {} : { image: values.image }),
});

const READY_TRIES = 10;
/** Past the pause after which a failed self-test is done again. */
const READY_PAUSE_MS = 6000;
const engine = createDockerEngine(dockerHost);
const sandbox = createDockerSandbox(settings);
try {
  const failed = await conform(engine, sandbox, settings);
  say(failed === 0 ? '\nall of it holds' : `\n${failed} did not hold`);
  process.exitCode = failed === 0 ? 0 : 1;
} finally {
  await sandbox.close();
  engine.close();
}

/** Readiness, asked again where the engine was only too slow for the self-test. */
async function settled(sandbox: Sandbox): Promise<readonly CheckState[]> {
  for (let left = READY_TRIES - 1; ; left -= 1) {
    const states = await sandbox.readiness();
    const slow = states.some(({ ok, detail }) => !ok && detail.includes('did not answer within'));
    if (!slow || left === 0) {
      return states;
    }
    await new Promise((resolve) => setTimeout(resolve, READY_PAUSE_MS));
  }
}

async function conform(engine: Engine, sandbox: Sandbox, settings: DockerSandboxOptions): Promise<number> {
  const states = await settled(sandbox);
  for (const { check, ok, detail } of states) {
    say(`${ok ? 'ok  ' : 'FAIL'}  ${check}: ${detail}`);
  }
  const unready = states.filter(({ ok }) => !ok).length;
  if (unready > 0) {
    // Fails closed: without the self-test nothing is run.
    const refused = await runIn(sandbox, compute('return 1'), {}, {}, { tries: 1 });
    say(`${refused.kind === 'notStarted' ? 'ok  ' : 'FAIL'}  and so nothing is run: ${inWords(refused)}`);
    return unready;
  }
  const failed = await runCases(
    [...outcomeCases(sandbox), ...lifecycleCases({ engine, sandbox, settings })],
    say,
  );
  say(
    `memory of a run that answered: ${inWords(await runIn(sandbox, compute('return len(bytearray(10**7))')))}`,
  );
  const limits = { wallMs: 2000 };
  const spins = compute('held = bytearray(10**7)', 'while True:', '    pass');
  say(`memory of a run that was ended: ${inWords(await runIn(sandbox, spins, {}, limits))}`);
  await sandbox.close();
  const left = await engine.list(`${LABEL_INSTANCE}=${settings.instanceId}`);
  say(`${left.length === 0 ? 'ok  ' : 'FAIL'}  ${left.length} containers are left`);
  return failed + Math.min(left.length, 1);
}
