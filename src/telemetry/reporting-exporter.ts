import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Clock } from '../clock.ts';

/** A receiver that is down is down for every batch: one line in so long says it. */
const REPORT_EVERY_NS = 600n * 1_000_000_000n;

/** Tells of exports that failed, by a name, with the number of spans since it told last; at most every ten minutes. */
export function reportingExporter(
  exporter: SpanExporter,
  clock: Clock,
  lost: (reason: string, spans: number) => void,
): SpanExporter {
  let reportedNs: bigint | null = null;
  let spansLost = 0;
  const report = (error: unknown, spans: number): void => {
    spansLost += spans;
    const nowNs = clock.monotonicNs();
    if (reportedNs === null || nowNs - reportedNs >= REPORT_EVERY_NS) {
      reportedNs = nowNs;
      lost(exportFault(error), spansLost);
      spansLost = 0;
    }
  };
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        // 0 is success in the library's ExportResultCode.
        if (result.code !== 0) {
          report(result.error, spans.length);
        }
        done(result);
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}

/** A name for why an export failed: a status, a system's code, or a word. The answer of the receiver is not read. */
export function exportFault(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code === 'number') {
    return `HTTP ${code}`;
  }
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code)) {
    return code;
  }
  switch (message) {
    case 'Request timed out':
      return 'no answer in time';
    case 'Export failed with retryable status':
      return 'HTTP 429, 502, 503 or 504';
    case 'Concurrent export limit reached':
      return 'earlier exports have not ended';
    default:
      return 'unknown';
  }
}
