import { type DestinationStream, type LevelWithSilent, pino } from 'pino';
import type { ReadinessCheck } from '../contract/readiness.ts';
import type { FinishedStep, StepObserver } from '../step/observer.ts';
import { errorFields } from './error-fields.ts';
import { number, stepFields, text } from './log-fields.ts';

export interface LoggerOptions {
  /** LOG_LEVEL. */
  readonly level: LevelWithSilent;
  /** Where lines go; standard output if left out. */
  readonly destination?: DestinationStream;
}

/** What the process says of itself besides its steps. `event` is a fixed word; `detail` is the service's own text. */
export interface ServiceLog {
  readonly observer: StepObserver;
  info(event: string, detail?: string): void;
  warn(event: string, detail?: string): void;
  /** With `error` as class, code and frames. */
  error(event: string, error?: unknown): void;
}

/** Outcomes that call for the operator; a caller's wrong request or function does not. */
const OPERATOR_OUTCOMES: ReadonlySet<string> = new Set([
  'internal_error',
  'ledger_unavailable',
  'sandbox_unavailable',
  'sandbox_lost',
]);

/**
 * JSON lines by pino: one a step at `info`, one a change of readiness, unexpected errors without their messages.
 * No object is ever handed to pino as it came: every line is made of named fields, so no level shows a value, a
 * header or a function.
 */
export function createLogger({ level, destination }: LoggerOptions): ServiceLog {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'event' };
  const log = destination === undefined ? pino(options) : pino(options, destination);
  // One entry a readiness check, which are a closed set.
  const readiness = new Map<ReadinessCheck, boolean>();
  const withDetail = (detail: string | undefined): { detail?: string } =>
    detail === undefined ? {} : { detail: text(detail) };

  const observer: StepObserver = {
    stepFinished(step: FinishedStep) {
      const at = OPERATOR_OUTCOMES.has(step.outcome) ? 'warn' : 'info';
      log[at](stepFields(step), 'step');
    },
    readiness({ check, ok, detail }) {
      if (readiness.get(check) !== ok) {
        readiness.set(check, ok);
        log[ok ? 'info' : 'warn']({ check: text(check), ok, detail: text(detail) }, 'readiness');
      }
    },
    unexpected: (where, error, id) =>
      log.error(
        { where: text(where), ...(id === undefined ? {} : { id: text(id) }), error: errorFields(error) },
        'unexpected',
      ),
    tenantsLoaded: (tenants) => log.info({ count: tenants.length }, 'tenants_loaded'),
    removalFailed: () => log.warn({}, 'container_removal_failed'),
    containerStart(outcome, ms) {
      log[outcome === 'ok' ? 'debug' : 'warn']({ outcome, ms: number(ms) }, 'container_start');
    },
    httpRequest: (route, method, status, seconds) =>
      log.debug(
        { route: text(route), method: text(method), status, seconds: number(seconds) },
        'http_request',
      ),
    modelRequest: (outcome) => log.debug({ outcome }, 'model_request'),
    admissionRefused: (rule) => log.debug({ rule_id: text(rule) }, 'admission_refused'),
    functionCache: (outcome) => log.debug({ outcome }, 'function_cache'),
    phase: (phase, ms) => log.trace({ phase, ms: number(ms) }, 'phase'),
    ledgerOp: (op, seconds) => log.trace({ op, seconds: number(seconds) }, 'ledger'),
    // It has a log of its own.
    daemonActivity: () => {},
    // Levels of the moment, which metrics show better than lines.
    containers: () => {},
    queueDepth: () => {},
    running: () => {},
    permitsOpen: () => {},
    quota: () => {},
  };
  return {
    observer,
    info: (event, detail) => log.info(withDetail(detail), text(event)),
    warn: (event, detail) => log.warn(withDetail(detail), text(event)),
    error: (event, error) => log.error(error === undefined ? {} : { error: errorFields(error) }, text(event)),
  };
}
