import type { FastifyReply, FastifyRequest } from 'fastify';
import { validTraceparent } from '../contract/traceparent.ts';
import type { StepObserver } from '../step/observer.ts';
import type { RequestSpan, Tracing } from '../telemetry/tracing.ts';

/** The spans of requests, kept beside them: the framework's objects stay as they are. */
export interface RequestSpans {
  /** Begins the span of a POST whose key is known: nobody else can make the service send anything. */
  begin(http: FastifyRequest, reply: FastifyReply, tenant: string): void;
  /** The span of a request; null where nothing is traced. */
  of(http: FastifyRequest): RequestSpan | null;
}

/** Without `tracing` no request has a span. A span that fails is told of, and its request goes on without. */
export function requestSpans(tracing: Tracing | null, observer: StepObserver): RequestSpans {
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  const guarded = (tell: () => void): void => {
    try {
      tell();
    } catch (error) {
      observer.unexpected('tracing', error);
    }
  };
  return {
    begin: (http, reply, tenant) => {
      if (tracing === null || http.method !== 'POST') {
        return;
      }
      guarded(() => {
        const route = http.routeOptions.url ?? 'none';
        const request = { id: http.id, tenant, method: http.method, route };
        const span = tracing.begin(request, validTraceparent(http.headers.traceparent));
        spans.set(http, span);
        reply.raw.once('close', () =>
          guarded(() => span.answered(reply.raw.headersSent ? reply.raw.statusCode : null)),
        );
      });
    },
    of: (http) => spans.get(http) ?? null,
  };
}
