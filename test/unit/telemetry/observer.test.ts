import { expect, test } from 'vitest';
import { combineObservers, nullObserver, type StepObserver } from '../../../src/step/observer.ts';
import { finishedStep } from './finished-step.ts';

/** Writes down every call it gets. */
function recorder(): { observer: StepObserver; calls: unknown[][] } {
  const calls: unknown[][] = [];
  const observer = Object.fromEntries(
    Object.keys(nullObserver).map((name) => [name, (...args: unknown[]) => calls.push([name, ...args])]),
  ) as unknown as StepObserver;
  return { observer, calls };
}

/** Calls every method once. */
function tellAll(observer: StepObserver): unknown[][] {
  const error = new Error('x');
  const step = finishedStep();
  observer.phase('model', 1);
  observer.stepFinished(step);
  observer.admissionRefused('import');
  observer.modelRequest('ok');
  observer.containerStart('failed', 3);
  observer.removalFailed();
  observer.daemonActivity({ ok: 1, failed: 0, timeout: 0, cancelled: 0 }, 2);
  observer.containers('ready', 4);
  observer.queueDepth(5);
  observer.running(6);
  observer.permitsOpen(7);
  observer.quota('acme', 'compute_runs', 8, null);
  observer.readiness({ check: 'pack', ok: true, detail: '' });
  observer.ledgerOp('open', 9);
  observer.functionCache('hit');
  observer.httpRequest('/v1/compute', 'POST', 200, 10);
  observer.tenantsLoaded(['acme']);
  observer.unexpected('http', error, 'request-1');
  return [
    ['phase', 'model', 1],
    ['stepFinished', step],
    ['admissionRefused', 'import'],
    ['modelRequest', 'ok'],
    ['containerStart', 'failed', 3],
    ['removalFailed'],
    ['daemonActivity', { ok: 1, failed: 0, timeout: 0, cancelled: 0 }, 2],
    ['containers', 'ready', 4],
    ['queueDepth', 5],
    ['running', 6],
    ['permitsOpen', 7],
    ['quota', 'acme', 'compute_runs', 8, null],
    ['readiness', { check: 'pack', ok: true, detail: '' }],
    ['ledgerOp', 'open', 9],
    ['functionCache', 'hit'],
    ['httpRequest', '/v1/compute', 'POST', 200, 10],
    ['tenantsLoaded', ['acme']],
    ['unexpected', 'http', error, 'request-1'],
  ];
}

test('every observer is told everything, in full', () => {
  const one = recorder();
  const other = recorder();
  const told = tellAll(combineObservers(one.observer, nullObserver, other.observer));
  expect(one.calls).toEqual(told);
  expect(other.calls).toEqual(told);
  expect(told.map(([name]) => name).sort()).toEqual(Object.keys(nullObserver).sort());
});

test('an observer that throws keeps nothing from the others or from the step', () => {
  const broken = new Proxy(nullObserver, {
    get: () => () => {
      throw new Error('broken');
    },
  });
  const other = recorder();
  const told = tellAll(combineObservers(broken, other.observer));
  expect(other.calls).toEqual(told);
});
