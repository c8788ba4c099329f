import { elapsedMs } from '../clock.ts';
import { type Problem, problem } from '../contract/problem.ts';
import { draftOf } from '../model/reply.ts';
import type { Prompt } from '../prompt/render.ts';
import { flightKey, functionKey } from './function-cache.ts';
import type { StepPorts } from './ports.ts';
import type { ModelOrigin, StepRequest } from './request.ts';
import type { StepTrace } from './trace.ts';
import { commission, writeFunction } from './write-function.ts';
import type { Written } from './written.ts';

/** The function kept for the prompt, or one written for everybody who asks for it now, which is then kept. */
export async function cachedFunction(
  ports: StepPorts,
  request: StepRequest,
  origin: ModelOrigin,
  prompt: Prompt,
  trace: StepTrace,
  signal: AbortSignal,
): Promise<Written | Problem> {
  const { cache, observer } = ports;
  const tenant = request.tenant.id;
  const key = functionKey(prompt, origin.target);
  trace.cacheKey = key;
  const kept = origin.cache === 'use' ? keptFunction(ports, tenant, key) : null;
  if (kept !== null) {
    observer.functionCache('hit');
    trace.functionSource = 'cache';
    return kept;
  }
  const joined = await cache.writing.join(
    flightKey(tenant, key, origin.target, origin.maxAttempts),
    async (shared) => {
      if (origin.cache === 'use') {
        observer.functionCache('miss');
      }
      const written = await writeFunction(ports, commission(request, origin, prompt), shared);
      if (written.kind === 'admitted') {
        cache.store(tenant, key, { text: written.fn.text, attempts: written.attempts });
      }
      return written;
    },
    signal,
  );
  if (joined.kind === 'left') {
    return problem(
      'deadline_exceeded',
      'The deadline passed while the function was being written; nothing ran.',
    );
  }
  if (!joined.led) {
    // No call of its own was paid for.
    observer.functionCache('hit');
    trace.functionSource = 'cache';
  }
  return joined.value;
}

/** Admitted again like any other: what is kept is text, and only admission makes a function of it. Else a miss. */
function keptFunction(ports: StepPorts, tenant: string, key: string): Written | null {
  const kept = ports.cache.find(tenant, key);
  if (kept === null) {
    return null;
  }
  const startNs = ports.clock.monotonicNs();
  const fn = ports.admission.admit(draftOf(kept.text));
  if ('rule_id' in fn) {
    return null;
  }
  return { kind: 'admitted', fn, attempts: kept.attempts, admissionMs: elapsedMs(ports.clock, startNs) };
}
