import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { ServiceLog } from './telemetry/logger.ts';
import type { Tracing } from './telemetry/tracing.ts';

/** Traces where an endpoint is set, else null: the SDK is loaded only where it is used. */
export async function openTracing(
  config: Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_HEADERS'>,
  version: string,
  clock: Clock,
  log: ServiceLog,
): Promise<Tracing | null> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = config;
  if (endpoint === null) {
    return null;
  }
  const { createTracing } = await import('./telemetry/traces.ts');
  return createTracing({
    endpoint,
    headers,
    version,
    clock,
    lost: (reason, spans) => log.warn('traces_not_sent', `${reason}; ${spans} spans were lost`),
  });
}
