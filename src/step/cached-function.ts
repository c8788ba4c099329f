import { elapsedMs } from '../clock.ts';
import { type Problem, problem } from '../contract/problem.ts';
import { draftOf } from '../model/reply.ts';
import type { Prompt } from '../prompt/render.ts';
import { flightKey, functionKey } from './function-cache.ts';
import type { StepPorts } from './ports.ts';
import type { ModelOrigin, StepRequest } from './request.ts';
import type { Joined } from './single-flight.ts';
import type { StepTrace } from './trace.ts';
import { type PhaseOutcome, type StepWatch, watched } from './watch.ts';
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
  const kept = origin.cache === 'use' ? keptFunction(ports, tenant, key, trace.watch) : null;
  if (kept !== null) {
    observer.functionCache('hit');
    trace.functionSource = 'cache';
    return kept;
  }
  let leads = false;
  const joining = cache.writing.join(
    flightKey(tenant, key, origin.target, origin.maxAttempts),
    async (shared) => {
      leads = true;
      if (origin.cache === 'use') {
        observer.functionCache('miss');
      }
      const written = await writeFunction(ports, commission(request, origin, prompt, trace.watch), shared);
      if (written.kind === 'admitted') {
        cache.store(tenant, key, { text: written.fn.text, attempts: written.attempts });
      }
      return written;
    },
    signal,
  );
  // Work is begun at once or not at all: who does not lead it waits for another's.
  const joined = leads ? await joining : await watched(trace.watch, 'model', () => joining, waitOutcome);
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

function waitOutcome(joined: Joined<Written>): PhaseOutcome {
  if (joined.kind === 'left') {
    return 'deadline_exceeded';
  }
  return joined.value.kind === 'failed' ? joined.value.problem.code : 'ok';
}

/** Admitted again like any other: what is kept is text, and only admission makes a function of it. Else a miss. */
function keptFunction(ports: StepPorts, tenant: string, key: string, watch: StepWatch): Written | null {
  const kept = ports.cache.find(tenant, key);
  if (kept === null) {
    return null;
  }
  const startNs = ports.clock.monotonicNs();
  const admission = watch.began('admission');
  const fn = ports.admission.admit(draftOf(kept.text));
  if ('rule_id' in fn) {
    admission.ended('not_admitted', fn);
    return null;
  }
  admission.ended('ok');
  return { kind: 'admitted', fn, attempts: kept.attempts, admissionMs: elapsedMs(ports.clock, startNs) };
}
