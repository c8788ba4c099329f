import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openLedger } from '../../src/metering/open-ledger.ts';
import type { RunOutcome } from '../../src/metering/permit.ts';
import type { CrashPoint } from '../fakes/crashing-main.ts';
import { ownContainers, ownMemoryMb, removeContainers } from '../fakes/own-containers.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';

/** At a point inside, or by what can be seen from outside. */
type Crash = CrashPoint | 'model_asked' | 'running';

interface Case {
  readonly crash: Crash;
  /** What the webhook must have seen, and what must be in the ledger after the restart. */
  readonly asked: number;
  readonly outcome: RunOutcome | null;
}

/** In the order of a step's life. */
const CASES: readonly Case[] = [
  { crash: 'before_open', asked: 0, outcome: null },
  { crash: 'after_open', asked: 0, outcome: null },
  { crash: 'model_asked', asked: 1, outcome: null },
  { crash: 'before_sandbox', asked: 1, outcome: null },
  { crash: 'before_started', asked: 1, outcome: null },
  { crash: 'after_started', asked: 1, outcome: 'sandbox_lost' },
  { crash: 'running', asked: 1, outcome: 'sandbox_lost' },
  { crash: 'before_settle', asked: 1, outcome: 'sandbox_lost' },
  { crash: 'after_settle', asked: 1, outcome: 'succeeded' },
];

const SPIN = 'def compute(data):\n    while True:\n        pass\n';
const RETURN = 'def compute(data):\n    return 42\n';
/** With what a container ends whose function ran past its limit while nobody was there to kill it. */
const EXIT_DEADLINE = 75;
const WALL_SECONDS = 2;
const CRASHING = ['--import', 'tsx', 'test/fakes/crashing-main.ts'];
const memoryMb = ownMemoryMb();
const folder = mkdtempSync(join(tmpdir(), 'compute-step-crash-'));
const ledgerPath = join(folder, 'ledger.db');
/** What must have been counted so far, by outcome: the ledger is the same one all along. */
const counted: Partial<Record<RunOutcome, number>> = {};
let service: BuiltService;

async function start(crash: Crash | null): Promise<BuiltService> {
  const started = await startBuiltService({
    env: {
      LEDGER_URL: `sqlite:${ledgerPath}`,
      SANDBOX_WALL_SECONDS: String(WALL_SECONDS),
      SANDBOX_MEMORY_MB: String(memoryMb),
      SANDBOX_POOL_SIZE: '1',
      ...(crash === null ? {} : { CRASH_AT: crash }),
    },
    ...(crash === null || crash === 'model_asked' || crash === 'running' ? {} : { command: CRASHING }),
    answer: async () => {
      if (crash === 'model_asked') {
        kill(started);
        await once(started.service.process, 'exit');
      }
      // Where no run may have begun, one that had would spin, and the engine would show it.
      return crash === null || crash.endsWith('settle') ? RETURN : SPIN;
    },
  });
  await started.ready();
  return started;
}

function kill(built: BuiltService): void {
  built.service.process.kill('SIGKILL');
}

function rows(statement: string): Record<string, unknown>[] {
  const db = new Database(ledgerPath, { timeout: 1000 });
  try {
    return db.prepare(statement).all([]) as Record<string, unknown>[];
  } finally {
    db.close();
  }
}

const step = (built: BuiltService, key: string) =>
  built.post('/v1/compute', { step: 'x', sources: [{ result: 1 }] }, { 'idempotency-key': key });

beforeAll(async () => {
  service = await start(CASES[0]?.crash ?? null);
});
afterAll(async () => {
  await service.stop();
  removeContainers(ownContainers(memoryMb));
  rmSync(folder, { recursive: true, force: true });
});

describe('a service that is killed', () => {
  it.each(CASES.map((one, index) => [one.crash, one, CASES[index + 1]?.crash ?? null] as const))(
    '%s: its run is counted once if it had started, else not at all',
    async (crash, { asked, outcome }, next) => {
      const killed = service;
      const gone = once(killed.service.process, 'exit');
      const answered = step(killed, crash).then(
        ({ status }) => status,
        () => 'no answer',
      );
      if (crash === 'running') {
        await expect
          .poll(() => rows("select state from journal where state = 'started'").length, { timeout: 30_000 })
          .toBe(1);
        await sleep(300);
        kill(killed);
      }
      await gone;
      expect(await answered).toBe('no answer');
      expect(killed.model.requests).toHaveLength(asked);
      const left = ownContainers(memoryMb);
      await killed.stop();

      service = await start(next);
      if (outcome !== null) counted[outcome] = (counted[outcome] ?? 0) + 1;
      const { json: usage } = await service.get('/v1/usage');
      const total = Object.values(counted).reduce((sum, runs) => sum + runs, 0);
      expect(usage).toMatchObject({ open_permits: 0, outcomes: counted, compute_runs: { used: total } });
      // Rounded up, and never more than the limit: what recovery may charge.
      expect(usage.compute_seconds.used).toBeGreaterThanOrEqual(total);
      expect(usage.compute_seconds.used).toBeLessThanOrEqual(total * WALL_SECONDS);

      // A key whose run counted never runs again, though its answer died with the process.
      if (outcome !== null && service.model.requests.length === 0) {
        const again = await step(service, crash);
        expect(again.status).toBe(409);
        expect(again.json).toMatchObject({ code: 'idempotency_answer_lost', outcome });
        expect(service.model.requests).toHaveLength(0);
      }

      // The engine: nothing of the killed service runs 10 s after its limit, and only where a run had started
      // did a function of it run.
      const own = new Set(left.map(({ id }) => id));
      const now = () => ownContainers(memoryMb).filter(({ id }) => own.has(id));
      await expect
        .poll(() => now().filter(({ running }) => running), { timeout: (10 + WALL_SECONDS) * 1000 })
        .toEqual([]);
      const ran = now().some(({ exitCode }) => exitCode === EXIT_DEADLINE);
      expect(ran).toBe(crash === 'running');
      if (ran) expect(outcome).not.toBeNull();
      removeContainers(left);
    },
  );

  it('leaves a sound ledger after all of it, in which every run has ended', async () => {
    const ledger = openLedger({ kind: 'sqlite', path: ledgerPath }, { clock: systemClock });
    expect(await ledger.verify()).toEqual([]);
    await ledger.close();
    const states = rows('select state, count(*) as runs from journal group by state order by state');
    // before_open left no row; the four that were killed later, and had not started, were given back.
    expect(states).toEqual([
      { state: 'released', runs: 4 },
      { state: 'settled', runs: 4 },
    ]);
  });

  it('still takes steps, and runs a key whose first request counted nothing', async () => {
    const { status, json } = await step(service, 'before_started');
    expect(status).toBe(200);
    expect(json.state).toBe('succeeded');
  });
});
