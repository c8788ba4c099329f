import type { FinishedStep } from '../../../src/step/observer.ts';

/** A step that succeeded, for tests to vary. */
export function finishedStep(more: Partial<FinishedStep> = {}): FinishedStep {
  return {
    id: '0197aaaa-0000-7000-8000-000000000000',
    tenant: 'acme',
    state: 'succeeded',
    outcome: 'succeeded',
    ruleId: null,
    metered: { computeRuns: 1, computeSeconds: 2 },
    promptPackDigest: `sha256:${'a'.repeat(64)}`,
    codeSha256: 'b'.repeat(64),
    functionSource: 'model',
    attempts: 1,
    image: `sha256:${'c'.repeat(64)}`,
    traceId: '0af7651916cd43dd8448eb211c80319c',
    timingsMs: { prompt: 0.4, model: 812, sandbox: 12.1234567, total: 828.3 },
    ...more,
  };
}
