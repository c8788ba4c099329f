import type { FastifyReply } from 'fastify';
import { type Clock, elapsedMs } from '../clock.ts';
import type { StepWatch } from '../step/watch.ts';
import { type HttpAnswer, sendAnswer } from './http-answer.ts';
import { type EventStream, type EventStreamBounds, openEventStream } from './sse.ts';

/** The answer to a request as events: what its step does, then what it came to. */
export interface Progress {
  /** For the step; its time begins now. */
  watch(): StepWatch;
  /** Sends what the request came to: as the last event, or as it is where the stream has not begun and never must. */
  answer(answer: HttpAnswer, more?: Readonly<Record<string, string>>): FastifyReply;
}

/**
 * Progress of one step. The stream begins with the first event, `prompt`: what is refused before (key, body, quota,
 * sandbox, a key that is in flight) is an ordinary HTTP problem. Events tell phases, times, attempts, rules and lines.
 */
export function createProgress(
  reply: FastifyReply,
  id: string,
  clock: Clock,
  bounds: EventStreamBounds,
): Progress {
  let stream: EventStream | null = null;
  const begin = (more: Readonly<Record<string, string>> = {}): EventStream => {
    if (stream === null) {
      reply.hijack();
      stream = openEventStream(reply.raw, { ...reply.getHeaders(), ...more }, bounds);
    }
    return stream;
  };
  return {
    watch: () => {
      const startNs = clock.monotonicNs();
      return eventsOf((event, more) => {
        const elapsed = Math.round(elapsedMs(clock, startNs) * 1000) / 1000;
        begin().send(event, JSON.stringify({ id, elapsed_ms: elapsed, ...more }));
      });
    },
    answer: (answer, more) => {
      if (stream === null && answer.status !== 200) {
        return sendAnswer(reply, answer, more);
      }
      begin(more).end(answer.status === 200 ? 'computation' : 'problem', answer.body);
      return reply;
    },
  };
}

type Tell = (event: string, more?: Readonly<Record<string, unknown>>) => void;

/** `prompt` when it is made, `model` when it is asked, `admission` with its verdict, `queue` and `running` on entry. */
function eventsOf(tell: Tell): StepWatch {
  return {
    began: (phase, attempt) => {
      const numbered = attempt === undefined ? {} : { attempt };
      if (phase === 'model') {
        tell('model', numbered);
      } else if (phase === 'queue') {
        tell('queue');
      } else if (phase === 'sandbox') {
        tell('running');
      }
      return {
        traceparent: null,
        ended: (outcome, refusal) => {
          if (phase === 'prompt' && outcome === 'ok') {
            tell('prompt');
          } else if (phase === 'admission') {
            const where = refusal === undefined ? {} : { rule_id: refusal.rule_id, line: refusal.line };
            tell('admission', { ...numbered, admitted: outcome === 'ok', ...where });
          }
        },
      };
    },
    finished: () => {},
  };
}
