import { expect, test } from 'vitest';
import { DaemonCounts } from '../../../src/sandbox/daemon-counts.ts';
import type { PoolCounts } from '../../../src/sandbox/pool-counts.ts';
import { recordingObserver } from '../../fakes/sandbox-run.ts';

const counts = (more: Partial<PoolCounts> = {}): PoolCounts => ({
  instance: 'one',
  containers: { starting: 1, ready: 2, running: 3, removing: 4 },
  queueDepth: 5,
  running: 3,
  starts: { ok: 10, failed: 1, timeout: 2, cancelled: 3 },
  removalFailures: 4,
  ...more,
});
const starts = (ok: number) => ({ ok, failed: 1, timeout: 2, cancelled: 3 });

test('levels are the daemon’s, and none where it does not answer', () => {
  const observer = recordingObserver();
  const daemon = new DaemonCounts(observer);
  daemon.take(counts());
  expect(observer.counts).toEqual({ starting: 1, ready: 2, running: 3, removing: 4, queued: 5, slots: 3 });
  daemon.take(null);
  expect(observer.counts).toEqual({ starting: 0, ready: 0, running: 0, removing: 0, queued: 0, slots: 0 });
});

test('sums are taken once, and only what was added since', () => {
  const observer = recordingObserver();
  const daemon = new DaemonCounts(observer);
  daemon.take(counts());
  daemon.take(counts());
  expect(observer.daemon).toEqual({ ok: 10, failed: 1, timeout: 2, cancelled: 3, removalFailures: 4 });
  daemon.take(null);
  daemon.take(counts({ starts: starts(12), removalFailures: 5 }));
  expect(observer.daemon).toEqual({ ok: 12, failed: 1, timeout: 2, cancelled: 3, removalFailures: 5 });
});

test('a restarted daemon’s sums are added in full', () => {
  const observer = recordingObserver();
  const daemon = new DaemonCounts(observer);
  daemon.take(counts());
  daemon.take(counts({ instance: 'two', starts: starts(3), removalFailures: 1 }));
  expect(observer.daemon).toEqual({ ok: 13, failed: 2, timeout: 4, cancelled: 6, removalFailures: 5 });
});

test('a daemon whose sums go back takes nothing away, and adds nothing when it comes up again', () => {
  const observer = recordingObserver();
  const daemon = new DaemonCounts(observer);
  daemon.take(counts());
  daemon.take(counts({ starts: starts(2), removalFailures: 0 }));
  daemon.take(counts({ starts: starts(10) }));
  expect(observer.daemon).toEqual({ ok: 10, failed: 1, timeout: 2, cancelled: 3, removalFailures: 4 });
});
