import { createInterface } from 'node:readline';
import { systemClock } from '../../../../src/clock.ts';
import { parseLedgerUrl } from '../../../../src/metering/ledger-url.ts';
import { createMeter } from '../../../../src/metering/meter.ts';
import { openLedger } from '../../../../src/metering/open-ledger.ts';

/**
 * A process of its own on a ledger. Reads one JSON command a line and answers one JSON line:
 * `ready`; `open` (`count` permits at once under a cap of `runs`); `start` and `settle` (the permits it holds).
 */
const [url = '', prefix = '', leaseMs = '30000'] = process.argv.slice(2);
const location = parseLedgerUrl(url);
if (location.kind === 'invalid') throw new Error(location.detail);
const ledger = openLedger(location, { clock: systemClock, reconnectMs: 0 });
const meter = createMeter({
  ledger,
  clock: systemClock,
  wallLimitMs: 10_000,
  instance: 'child',
  leaseMs: Number(leaseMs),
});
await meter.recover();
const permits: Exclude<Awaited<ReturnType<typeof meter.open>>, { kind: 'problem' }>[] = [];
let runs = 0;

async function open(count: number, cap: number | null): Promise<string[]> {
  const quotas = { computeRuns: cap, computeSeconds: null };
  const opened = await Promise.all(
    Array.from({ length: count }, () => {
      runs += 1;
      return meter.open('acme', quotas, `${prefix}-${runs}`, 'sha256:pack');
    }),
  );
  return opened.map((answer) => {
    if ('kind' in answer) return answer.code;
    permits.push(answer);
    return 'permit';
  });
}

async function answer(line: string): Promise<unknown> {
  const { op, count = 1, runs: cap = null } = JSON.parse(line);
  if (op === 'open') return open(count, cap);
  if (op === 'start') return Promise.all(permits.map((permit) => permit.started('c0de')));
  if (op === 'settle') return Promise.all(permits.map((permit) => permit.settle(1n, 'succeeded')));
  return meter.ready();
}

process.stdout.write('"up"\n');
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
