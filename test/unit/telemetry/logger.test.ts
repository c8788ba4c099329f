import { describe, expect, test } from 'vitest';
import type { FinishedStep } from '../../../src/step/observer.ts';
import { createLogger, type LoggerOptions, type ServiceLog } from '../../../src/telemetry/logger.ts';
import { finishedStep } from './finished-step.ts';

function capture(level: LoggerOptions['level']): {
  log: ServiceLog;
  lines: () => Record<string, unknown>[];
  text: () => string;
} {
  let text = '';
  const destination = {
    write(chunk: string): void {
      text += chunk;
    },
  };
  const lines = (): Record<string, unknown>[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { log: createLogger({ level, destination }), lines, text: () => text };
}

describe('the log', () => {
  test('has one line a step at info, with ids, codes, digests and times', () => {
    const { log, lines } = capture('info');
    log.observer.phase('model', 812);
    log.observer.modelRequest('ok');
    log.observer.httpRequest('/v1/compute', 'POST', 200, 0.8);
    log.observer.stepFinished(finishedStep());
    expect(lines()).toEqual([
      {
        level: 30,
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        event: 'step',
        id: '0197aaaa-0000-7000-8000-000000000000',
        tenant: 'acme',
        state: 'succeeded',
        outcome: 'succeeded',
        compute_runs: 1,
        compute_seconds: 2,
        function_source: 'model',
        attempts: 1,
        prompt_pack_digest: `sha256:${'a'.repeat(64)}`,
        code_sha256: 'b'.repeat(64),
        image: `sha256:${'c'.repeat(64)}`,
        trace_id: '0af7651916cd43dd8448eb211c80319c',
        timings_ms: { prompt: 0.4, model: 812, sandbox: 12.123, total: 828.3 },
      },
    ]);
  });

  test('tells the rule of a refusal and the text the service wrote about a problem', () => {
    const { log, lines } = capture('info');
    log.observer.stepFinished(
      finishedStep({
        state: 'not_admitted',
        outcome: 'code_not_admitted',
        ruleId: 'import',
        note: 'n'.repeat(1000),
      }),
    );
    log.observer.stepFinished(
      finishedStep({
        state: 'refused',
        outcome: 'model_url_refused',
        cause: 'private address: models.internal:443',
      }),
    );
    expect(lines()[0]).toMatchObject({
      rule_id: 'import',
      outcome: 'code_not_admitted',
      note: 'n'.repeat(300),
    });
    expect(lines()[1]).toMatchObject({
      outcome: 'model_url_refused',
      cause: 'private address: models.internal:443',
    });
  });

  test('names no source of a function where the step came to none', () => {
    const { log, lines } = capture('info');
    const none = { state: 'refused', outcome: 'quota_exceeded', codeSha256: '' } as const;
    log.observer.stepFinished(finishedStep({ ...none, attempts: 0 }));
    log.observer.stepFinished(finishedStep({ ...none, attempts: 1 }));
    expect(lines()).toMatchObject([{ function_source: '' }, { function_source: 'model' }]);
  });

  test('has no trace id where there is no trace', () => {
    const { log, lines } = capture('info');
    log.observer.stepFinished(finishedStep({ traceId: null }));
    expect(Object.keys(lines()[0] ?? {})).not.toContain('trace_id');
  });

  test('warns of what calls for the operator', () => {
    const { log, lines } = capture('warn');
    log.observer.stepFinished(finishedStep({ state: 'refused', outcome: 'ledger_unavailable' }));
    log.observer.stepFinished(finishedStep({ state: 'failed', outcome: 'exception' }));
    log.observer.stepFinished(finishedStep({ state: 'refused', outcome: 'invalid_request' }));
    expect(lines().map((line) => line.outcome)).toEqual(['ledger_unavailable']);
  });

  test('tells readiness when it changes', () => {
    const { log, lines } = capture('info');
    const state = (ok: boolean): void => log.observer.readiness({ check: 'engine', ok, detail: 'no answer' });
    [false, false, true, true, true, false].forEach(state);
    expect(lines().map(({ check, ok }) => [check, ok])).toEqual([
      ['engine', false],
      ['engine', true],
      ['engine', false],
    ]);
  });

  test('tells what the process does', () => {
    const { log, lines } = capture('info');
    log.info('listening', '127.0.0.1:8080');
    log.warn('tenants_file_refused', 'tenants[0].id is required');
    log.error('start_failed', new RangeError('canary'));
    log.error('stopped');
    log.observer.tenantsLoaded(['acme', 'beta']);
    log.observer.removalFailed();
    expect(lines().map(({ level, event, detail }) => [level, event, detail])).toEqual([
      [30, 'listening', '127.0.0.1:8080'],
      [40, 'tenants_file_refused', 'tenants[0].id is required'],
      [50, 'start_failed', undefined],
      [50, 'stopped', undefined],
      [30, 'tenants_loaded', undefined],
      [40, 'container_removal_failed', undefined],
    ]);
    expect(lines()[2]).toMatchObject({ error: { name: 'RangeError' } });
  });

  test('has no way in for anything that is not a named field, at any level', () => {
    const { log, text, lines } = capture('trace');
    const canary = 'canary-5f1c';
    const secret = Object.assign(new Error(`failed for ${canary}`, { cause: new TypeError(canary) }), {
      config: { headers: { authorization: canary } },
      code: canary,
      body: canary,
    });
    const step = {
      ...finishedStep({ state: 'refused', cause: secret }),
      prompt: canary,
      result: { [canary]: canary },
      outcome: canary,
      promptPackDigest: canary,
      codeSha256: canary,
      image: canary,
      traceId: canary,
      metered: { computeRuns: canary, computeSeconds: 1, [canary]: canary },
      timingsMs: { total: canary, [canary]: 1 },
    } as unknown as FinishedStep;
    const { observer } = log;
    observer.stepFinished(step);
    observer.stepFinished({ ...finishedStep(), cause: { message: canary } });
    observer.unexpected('http', secret);
    observer.unexpected('http', canary);
    observer.unexpected('http', { message: canary });
    log.error('start_failed', secret);
    observer.phase('total', 1);
    observer.modelRequest('failed');
    observer.ledgerOp('open', 0.1);
    observer.containerStart('failed', 3);
    observer.httpRequest('/v1/compute', 'POST', 500, 1);
    observer.admissionRefused('string');
    observer.functionCache('miss');
    expect(lines().length).toBe(13);
    expect(text()).not.toContain(canary);
    expect(lines()[0]).toMatchObject({ outcome: 'unknown', compute_runs: 0, timings_ms: { total: 0 } });
  });
});
