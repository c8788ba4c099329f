import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/clock.ts';
import type { LedgerMismatch } from '../../src/metering/ledger.ts';
import { openLedger } from '../../src/metering/open-ledger.ts';
import { type OwnContainer, ownContainers, ownMemoryMb } from './own-containers.ts';
import { startBuiltService } from './running-service.ts';
import { counterBy, type Held, heldBy, soak, soakAnswer, type Tally } from './soak.ts';

/** What a soak found, of which a test says what it must be. */
export interface Findings {
  readonly tally: Tally;
  // biome-ignore lint/suspicious/noExplicitAny: the answer of /v1/usage
  readonly usage: any;
  // biome-ignore lint/suspicious/noExplicitAny: what `usage export` printed
  readonly exported: any;
  /** Counters of the process: runs by state, seconds, steps by outcome. */
  readonly runsByState: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly stepsByOutcome: Readonly<Record<string, number>>;
  readonly mismatches: readonly LedgerMismatch[];
  readonly containersLeft: readonly OwnContainer[];
  readonly warm: Held;
  readonly end: Held;
  readonly elapsedMs: number;
}

/** A service of its own takes a warm-up and then `steps` mixed steps. Needs the engine, the image and `dist/`. */
export async function runSoak(steps: number, warmUpSteps: number): Promise<Findings> {
  const folder = mkdtempSync(join(tmpdir(), 'compute-step-soak-'));
  const path = join(folder, 'ledger.db');
  const memoryMb = ownMemoryMb();
  const service = await startBuiltService({
    env: {
      LEDGER_URL: `sqlite:${path}`,
      SANDBOX_MEMORY_MB: String(memoryMb),
      SANDBOX_POOL_SIZE: '2',
      LOG_LEVEL: 'info',
    },
    tenant: { quotas: { compute_runs: null, compute_seconds: null } },
    answer: soakAnswer,
  });
  const { pid = 0 } = service.service.process;
  await service.ready();
  const first = await soak(service, warmUpSteps);
  const warm = await quietly(pid);
  const startedAt = Date.now();
  const second = await soak(service, steps);
  const elapsedMs = Date.now() - startedAt;
  const end = await quietly(pid);
  const usage = (await service.get('/v1/usage')).json;
  const metrics = await service.metrics();
  const exported = JSON.parse(
    execFileSync(process.execPath, ['dist/main.js', 'usage', 'export', '--month', usage.month], {
      env: { ...process.env, LEDGER_URL: `sqlite:${path}` },
      encoding: 'utf8',
    }),
  );
  await service.stop();
  const ledger = openLedger({ kind: 'sqlite', path }, { clock: systemClock });
  const mismatches = await ledger.verify();
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
  return {
    tally: sum(first, second),
    usage,
    exported,
    runsByState: counterBy(metrics, 'compute_runs_total', 'state'),
    seconds: counterBy(metrics, 'compute_seconds_total', 'tenant').acme ?? 0,
    stepsByOutcome: counterBy(metrics, 'compute_step_steps_total', 'outcome'),
    mismatches,
    containersLeft: ownContainers(memoryMb),
    warm,
    end,
    elapsedMs,
  };
}

/** What the process holds when removals and refills have come to rest: the least of a few seconds. */
async function quietly(pid: number): Promise<Held> {
  const seen: Held[] = [];
  for (let look = 0; look < 6; look += 1) {
    await sleep(500);
    seen.push(heldBy(pid));
  }
  return {
    rssBytes: Math.min(...seen.map(({ rssBytes }) => rssBytes)),
    descriptors: Math.min(...seen.map(({ descriptors }) => descriptors)),
  };
}

function sum(one: Tally, two: Tally): Tally {
  const add = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>) => {
    const both = { ...a };
    for (const [key, value] of Object.entries(b)) both[key] = (both[key] ?? 0) + value;
    return both;
  };
  return {
    counted: add(one.counted, two.counted),
    outcomes: add(one.outcomes, two.outcomes),
    surprises: [...one.surprises, ...two.surprises],
  };
}
