import { randomUUID } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import {
  type Context,
  type HrTime,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Clock } from '../clock.ts';
import { traceContext } from '../contract/traceparent.ts';
import { nullWatch, type StepWatch } from '../step/watch.ts';
import { reportingExporter } from './reporting-exporter.ts';
import { markAnswered, markFinished, markPhase, requestAttributes } from './span-fields.ts';
import type { RequestSpan, TracedRequest, Tracing } from './tracing.ts';

export interface TracingOptions {
  /** OTEL_EXPORTER_OTLP_ENDPOINT; spans go to `v1/traces` below it, as OTLP over HTTP in JSON. */
  readonly endpoint: string;
  /** OTEL_EXPORTER_OTLP_HEADERS. */
  readonly headers: Readonly<Record<string, string>>;
  readonly version: string;
  readonly clock: Clock;
  /** Told why spans did not arrive, and how many since it was told last; at most every ten minutes. */
  readonly lost: (reason: string, spans: number) => void;
  readonly bounds?: Partial<TracingBounds>;
}

export interface TracingBounds {
  /** Ended spans that wait; past it new ones are dropped. A step has six to a dozen, of about a kilobyte each. */
  readonly queuedSpans: number;
  /** Written as one text at once: as many take a few milliseconds. */
  readonly batchSpans: number;
  /** How long a span waits for others at most. */
  readonly delayMs: number;
  /** How long one export may take, its retries included; its spans are lost then. */
  readonly exportMs: number;
  /** How long the last export may keep the service from ending. */
  readonly closeMs: number;
}

const BOUNDS: TracingBounds = {
  queuedSpans: 2048,
  batchSpans: 256,
  delayMs: 2000,
  exportMs: 5000,
  closeMs: 3000,
};

/** An export can outlast its own time by the pause before its last retry. */
const EXPORT_SLACK = 2;
/** The last export sends the whole queue in batches at once, beside one under way. */
const EXPORTS_AT_ONCE = BOUNDS.queuedSpans / BOUNDS.batchSpans + 1;

/** What the library bounds by default or by variables of its own; a span here has about a dozen attributes. */
const SPAN_LIMITS = {
  attributeCountLimit: 32,
  attributeValueLengthLimit: 300,
  eventCountLimit: 0,
  linkCountLimit: 0,
  attributePerEventCountLimit: 0,
  attributePerLinkCountLimit: 0,
};

/**
 * Traces by the OpenTelemetry SDK, with nothing registered globally and every option given, so that no variable of the
 * environment takes its place. Sampled as the caller's `traceparent` says, else always. Loading this file loads the SDK:
 * it is imported where traces are asked for, and nowhere else.
 */
export function createTracing(options: TracingOptions): Tracing {
  const bounds = { ...BOUNDS, ...options.bounds };
  const url = new URL(options.endpoint);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  const agent = new (url.protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 2 });
  const exporter = new OTLPTraceExporter({
    url: url.href,
    headers: { ...options.headers },
    timeoutMillis: bounds.exportMs,
    concurrencyLimit: EXPORTS_AT_ONCE,
    compression: 'none' as NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>['compression'] &
      string,
    httpAgentOptions: () => agent,
  });
  const provider = new BasicTracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.name': 'compute-step',
        'service.version': options.version,
        'service.instance.id': randomUUID(),
      }),
    ),
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanLimits: SPAN_LIMITS,
    generalLimits: {
      attributeCountLimit: SPAN_LIMITS.attributeCountLimit,
      attributeValueLengthLimit: SPAN_LIMITS.attributeValueLengthLimit,
    },
    forceFlushTimeoutMillis: bounds.closeMs,
    spanProcessors: [
      new BatchSpanProcessor(reportingExporter(exporter, options.clock, options.lost), {
        maxQueueSize: bounds.queuedSpans,
        maxExportBatchSize: Math.min(bounds.batchSpans, bounds.queuedSpans),
        scheduledDelayMillis: bounds.delayMs,
        exportTimeoutMillis: bounds.exportMs * EXPORT_SLACK,
      }),
    ],
  });
  const tracer = provider.getTracer('compute-step', options.version);
  return {
    begin: (request, traceparent) =>
      requestSpan(tracer, request, parentOf(traceparent), timesOf(options.clock)),
    close: async () => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, bounds.closeMs);
      });
      // What could not be sent was reported by the exporter.
      await Promise.race([provider.shutdown().catch(() => {}), late]);
      clearTimeout(timer);
      agent.destroy();
    },
  };
}

function requestSpan(
  tracer: Tracer,
  request: TracedRequest,
  parent: Context,
  now: () => HrTime,
): RequestSpan {
  const span = tracer.startSpan(
    `${request.method} ${request.route}`,
    { kind: SpanKind.SERVER, attributes: requestAttributes(request), startTime: now() },
    parent,
  );
  const context = trace.setSpan(ROOT_CONTEXT, span);
  let stepUnderWay = false;
  let answered = false;
  const endOnce = (): void => {
    // A caller who hung up has closed before the step has ended, and the step ends before its answer is out.
    if (answered && !stepUnderWay) {
      span.end(now());
    }
  };
  return {
    traceparent: traceparentOf(span),
    watch: (): StepWatch => {
      if (answered) {
        // Its caller hung up while the body was read: the span has ended.
        return nullWatch;
      }
      stepUnderWay = true;
      return {
        began: (phase, attempt) => {
          const kind = phase === 'model' && attempt !== undefined ? SpanKind.CLIENT : SpanKind.INTERNAL;
          const child = tracer.startSpan(phase, { kind, startTime: now() }, context);
          return {
            traceparent: traceparentOf(child),
            ended: (outcome, refusal) => {
              markPhase(child, outcome, attempt, refusal);
              child.end(now());
            },
          };
        },
        finished: (step) => {
          markFinished(span, step);
          stepUnderWay = false;
          endOnce();
        },
      };
    },
    answered: (status) => {
      markAnswered(span, status);
      answered = true;
      endOnce();
    },
  };
}

/** Times of one request, from the wall clock at its start and monotonic from there, so that no part outlasts the whole. */
function timesOf(clock: Clock): () => HrTime {
  const startMs = BigInt(clock.now().getTime());
  const startNs = clock.monotonicNs();
  return () => {
    const ns = startMs * 1_000_000n + clock.monotonicNs() - startNs;
    return [Number(ns / 1_000_000_000n), Number(ns % 1_000_000_000n)];
  };
}

function parentOf(traceparent: string | null): Context {
  const caller = traceContext(traceparent);
  return caller === null
    ? ROOT_CONTEXT
    : trace.setSpanContext(ROOT_CONTEXT, {
        traceId: caller.traceId,
        spanId: caller.parentId,
        traceFlags: caller.flags,
        isRemote: true,
      });
}

function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
