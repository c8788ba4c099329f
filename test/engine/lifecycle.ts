import { randomUUID } from 'node:crypto';
import type Docker from 'dockerode';
import { systemClock } from '../../src/clock.ts';
import { containerSpec, LABEL, LABEL_INSTANCE } from '../../src/sandbox/container-spec.ts';
import { createDockerSandbox, type DockerSandboxOptions } from '../../src/sandbox/docker.ts';
import type { Engine } from '../../src/sandbox/engine.ts';
import { exitVerdict, observeExit } from '../../src/sandbox/exit.ts';
import type { Sandbox } from '../../src/sandbox/port.ts';
import { compute } from '../fakes/python-functions.ts';
import { runIn } from './outcomes.ts';
import { type Case, inWords } from './report.ts';

export interface LifecycleGround {
  readonly sandbox: Sandbox;
  readonly engine: Engine;
  readonly settings: DockerSandboxOptions;
}

type Spec = Docker.ContainerCreateOptions;

const SPIN = compute('while True:', '    pass');
const AT_ONCE = 8;
const LIFE_SECONDS = 600;
/** For what takes a second, on an emulated machine. */
const WAIT_MS = 60_000;
/** A parent whose child takes too much memory: 7 if that was killed. */
const PARENT = `
import posix
child = posix.fork()
if child == 0:
    held = bytearray(10**9)
    posix._exit(0)
_, status = posix.waitpid(child, 0)
posix._exit(7 if posix.WIFSIGNALED(status) else 8)
`;

/** What must be true of containers' lives: who ends them, who removes them, what is told of their end. */
export function lifecycleCases({ sandbox, engine, settings }: LifecycleGround): readonly Case[] {
  const alone = () => createDockerSandbox({ ...settings, poolSize: 0, instanceId: randomUUID() });
  const ended = async (id: string): Promise<boolean> => !(await engine.state(id)).running;
  const there = async (id: string): Promise<boolean> =>
    (await engine.list(LABEL)).some((found) => found.id === id);
  return [
    {
      name: 'a caller who leaves ends the run',
      run: async () => {
        const caller = new AbortController();
        const taken = (): void => void setTimeout(() => caller.abort(), 500);
        const report = await runIn(sandbox, SPIN, {}, {}, { signal: caller.signal, taken });
        return report.kind === 'killed' && report.reason === 'cancelled' ? null : inWords(report);
      },
    },
    {
      name: 'another client’s kill is a crash and not out of memory',
      run: async () => {
        const instanceId = randomUUID();
        const own = createDockerSandbox({ ...settings, poolSize: 0, instanceId });
        const killAll = async (): Promise<void> => {
          const found = await engine.list(`${LABEL_INSTANCE}=${instanceId}`);
          await Promise.all(found.map(({ id }) => engine.kill(id)));
        };
        // A busy engine kills and is late to say so.
        const killSoon = (): void => void setTimeout(() => void killAll().catch(() => {}), 1000);
        try {
          const report = await runIn(own, SPIN, {}, {}, { taken: killSoon });
          return report.kind === 'killed' && report.reason === 'sandbox_crashed' ? null : inWords(report);
        } finally {
          await own.close();
        }
      },
    },
    {
      name: `${AT_ONCE} runs at once, three times over, all return`,
      run: async () => {
        for (let round = 0; round < 3; round += 1) {
          const runs = Array.from({ length: AT_ONCE }, (_, i) => runIn(sandbox, compute(`return ${i}`)));
          const lost = (await Promise.all(runs)).find(({ kind }) => kind !== 'returned');
          if (lost !== undefined) {
            return inWords(lost);
          }
        }
        return null;
      },
    },
    {
      name: 'an idle container ends by itself when its client goes',
      run: async () =>
        withContainer(engine, await specOf(engine, settings), async (id) => {
          const stream = await engine.attach(id);
          await engine.start(id);
          await pause(2000);
          if (await ended(id)) {
            return 'it had ended before';
          }
          stream.destroy();
          return (await within(() => ended(id))) ? null : 'it lives on';
        }),
    },
    {
      name: 'a child that is killed for its memory does not make the run out of memory',
      run: async () =>
        withContainer(engine, forking(await specOf(engine, settings)), async (id) => {
          const stream = await engine.attach(id);
          stream.resume();
          await engine.start(id);
          const exit = await observeExit(engine, id, systemClock, WAIT_MS);
          stream.destroy();
          if (exit.kind !== 'exited' || exit.exitCode !== 7) {
            return `no child was killed: ${exit.kind === 'exited' ? exit.exitCode : exit.kind}`;
          }
          return exitVerdict(exit) === 'sandbox_crashed' ? null : 'out of memory';
        }),
    },
    {
      name: 'a dead instance’s container is removed once it has expired, and not before',
      run: async () => {
        const kept = await engine.create(await specOf(engine, settings));
        const late = await engine.create(await specOf(engine, settings, -60));
        const other = alone();
        try {
          if (!(await within(async () => !(await there(late))))) {
            return 'it is still there';
          }
          return (await there(kept)) ? null : 'the one that has not expired is gone too';
        } finally {
          await other.close();
          await Promise.all([engine.remove(kept), engine.remove(late)]);
        }
      },
    },
  ];
}

/** The spec of a sandbox container, of an instance that nobody is. */
async function specOf(
  engine: Engine,
  settings: DockerSandboxOptions,
  lifeSeconds = LIFE_SECONDS,
): Promise<Spec> {
  const { cgroupVersion } = await engine.facts();
  return containerSpec({
    ...settings,
    image: (await engine.imageId(settings.image)) ?? settings.image,
    instanceId: randomUUID(),
    cgroupVersion,
    expiresAtSeconds: Math.ceil(Date.now() / 1000) + lifeSeconds,
  });
}

/** The same with PARENT in place of the harness and a profile that lets it fork. */
function forking(spec: Spec): Spec {
  const options: string[] = spec.HostConfig?.SecurityOpt ?? [];
  const securityOpt = options.map((option) => {
    if (!option.startsWith('seccomp=')) {
      return option;
    }
    const given = option.slice('seccomp='.length);
    if (given.startsWith('/')) {
      throw new Error('not tried with a profile that is passed as a path');
    }
    const profile = JSON.parse(given) as { syscalls: object[] };
    const names = ['clone', 'clone3', 'fork', 'vfork', 'wait4'];
    profile.syscalls.push({ names, action: 'SCMP_ACT_ALLOW' });
    return `seccomp=${JSON.stringify(profile)}`;
  });
  return {
    ...spec,
    Entrypoint: ['/usr/bin/python3', '-P', '-s', '-S', '-B', '-c', PARENT],
    HostConfig: { ...spec.HostConfig, SecurityOpt: securityOpt },
  };
}

async function withContainer(
  engine: Engine,
  spec: Spec,
  use: (id: string) => Promise<string | null>,
): Promise<string | null> {
  const id = await engine.create(spec);
  try {
    return await use(id);
  } finally {
    await engine.remove(id);
  }
}

/** An engine that is too slow to answer is asked again. */
async function within(happened: () => Promise<boolean>): Promise<boolean> {
  const untilMs = performance.now() + WAIT_MS;
  while (performance.now() < untilMs) {
    if (await happened().catch(() => false)) {
      return true;
    }
    await pause(250);
  }
  return false;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
