import type { CheckState } from '../contract/readiness.ts';
import { type AnswerBounds, answerMaxBytes } from './answer.ts';
import type { KillReason, NotJson, PathStep, RunReport, RunUsage } from './port.ts';
import { exceptionName, typeName } from './python-names.ts';
import { isObject, jsonObject, jsonValue, wholeNumber } from './wire.ts';

/** Room for the usage and the names beside what an answer may hold. */
const USAGE_BYTES = 8 * 1024;
/** Largest payload of a READY frame. */
export const READY_MAX_BYTES = 16 * 1024;
const DETAIL_MAX_CHARS = 500;
const PATH_MAX_STEPS = 100;
const PATH_STEP_MAX_CHARS = 400;

type Fields = Readonly<Record<string, unknown>>;
type NotStarted = Extract<RunReport, { kind: 'notStarted' }>;

const KILL_REASONS: ReadonlySet<string> = new Set<KillReason>([
  'timeout',
  'out_of_memory',
  'output_too_large',
  'sandbox_crashed',
  'sandbox_lost',
  'cancelled',
]);
const UNSTARTED_REASONS: ReadonlySet<string> = new Set<NotStarted['reason']>([
  'sandbox_unavailable',
  'overloaded',
  'deadline_exceeded',
  'cancelled',
  'ledger_unavailable',
]);

/** The largest REPORT payload, in bytes, of a run under these limits. */
export function reportMaxBytes(bounds: Pick<AnswerBounds, 'resultMaxBytes' | 'detailMaxBytes'>): number {
  return answerMaxBytes(bounds) + USAGE_BYTES;
}

/** Payload of a REPORT frame in pieces: u32 big-endian header length, header JSON, the result's bytes. */
export function encodeReport(report: RunReport): readonly Buffer[] {
  const header = Buffer.from(JSON.stringify(reportHeader(report)));
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(header.byteLength, 0);
  return report.kind === 'returned' ? [length, header, report.result] : [length, header];
}

function reportHeader(report: RunReport): object {
  if (report.kind === 'notStarted') {
    const { kind, reason, detail } = report;
    return { kind, reason, detail: detail.slice(0, DETAIL_MAX_CHARS) };
  }
  const { wallNs, ...rest } = report.usage;
  const usage = { ...rest, wallNs: wallNs.toString() };
  switch (report.kind) {
    case 'returned':
      return { kind: report.kind, printed: report.printed, usage };
    case 'raised': {
      const { kind, exception, line, text, printed } = report;
      return { kind, exception, line, text, printed, usage };
    }
    case 'notJson':
      return { kind: report.kind, notJson: report.notJson, usage };
    case 'killed':
      return { kind: report.kind, reason: report.reason, usage };
  }
}

/**
 * Reads a REPORT payload from a peer that is trusted not to lie but may be broken: closed sets for names, bounds
 * for all else. Null if it is not a report. The result's bytes were scanned by the daemon.
 */
export function decodeReport(payload: Buffer, bounds: AnswerBounds): RunReport | null {
  if (payload.byteLength < 4) {
    return null;
  }
  const end = 4 + payload.readUInt32BE(0);
  const header = end > payload.byteLength ? null : jsonObject(payload.subarray(4, end));
  if (header === null) {
    return null;
  }
  const result = payload.subarray(end);
  if (header.kind === 'returned' ? result.byteLength > bounds.resultMaxBytes : result.byteLength > 0) {
    return null;
  }
  if (header.kind === 'notStarted') {
    const { reason, detail } = header;
    return typeof reason === 'string' && UNSTARTED_REASONS.has(reason) && typeof detail === 'string'
      ? {
          kind: 'notStarted',
          reason: reason as NotStarted['reason'],
          detail: detail.slice(0, DETAIL_MAX_CHARS),
        }
      : null;
  }
  const usage = usageOf(header.usage);
  return usage === null ? null : startedReport(header, usage, result, bounds);
}

function startedReport(
  header: Fields,
  usage: RunUsage,
  result: Buffer,
  bounds: AnswerBounds,
): RunReport | null {
  const { kind, reason } = header;
  switch (kind) {
    case 'returned': {
      const printed = textOf(header.printed, bounds);
      return printed === undefined ? null : { kind, result, printed, usage };
    }
    case 'raised': {
      const [text, printed] = [textOf(header.text, bounds), textOf(header.printed, bounds)];
      const line = header.line === null ? null : wholeNumber(header.line, 1, bounds.lineCount);
      if (text === undefined || printed === undefined || (line === null && header.line !== null)) {
        return null;
      }
      return { kind, exception: exceptionName(header.exception), line, text, printed, usage };
    }
    case 'notJson': {
      const notJson = notJsonOf(header.notJson);
      return notJson === null ? null : { kind, notJson, usage };
    }
    case 'killed':
      return typeof reason === 'string' && KILL_REASONS.has(reason)
        ? { kind, reason: reason as KillReason, usage }
        : null;
    default:
      return null;
  }
}

function usageOf(value: unknown): RunUsage | null {
  if (!isObject(value)) {
    return null;
  }
  const { wallNs, cpuSeconds, peakMemoryBytes, peakMemorySource, exitCode, outputBytes, image } = value;
  const bytes = wholeNumber(outputBytes, 0, Number.MAX_SAFE_INTEGER);
  const fits =
    typeof wallNs === 'string' &&
    /^\d{1,18}$/.test(wallNs) &&
    (cpuSeconds === null || (typeof cpuSeconds === 'number' && cpuSeconds >= 0)) &&
    (peakMemoryBytes === null || wholeNumber(peakMemoryBytes, 0, Number.MAX_SAFE_INTEGER) !== null) &&
    (peakMemorySource === null || peakMemorySource === 'engine' || peakMemorySource === 'self') &&
    (exitCode === null || wholeNumber(exitCode, 0, 255) !== null) &&
    typeof image === 'string' &&
    image.length <= 128;
  return !fits || bytes === null
    ? null
    : {
        wallNs: BigInt(wallNs),
        cpuSeconds: cpuSeconds as number | null,
        peakMemoryBytes: peakMemoryBytes as number | null,
        peakMemorySource,
        exitCode: exitCode as number | null,
        outputBytes: bytes,
        image,
      };
}

/** Text within the bound; undefined if it is neither that nor null. */
function textOf(value: unknown, { detailMaxBytes }: AnswerBounds): string | null | undefined {
  if (value === null) {
    return null;
  }
  return typeof value === 'string' && detailMaxBytes > 0 && Buffer.byteLength(value) <= detailMaxBytes
    ? value
    : undefined;
}

function notJsonOf(value: unknown): NotJson | null {
  if (!isObject(value) || !Array.isArray(value.path) || value.path.length > PATH_MAX_STEPS) {
    return null;
  }
  const path = value.path as unknown[];
  const fits = path.every(
    (step) =>
      (typeof step === 'string' && step.length <= PATH_STEP_MAX_CHARS) ||
      wholeNumber(step, 0, Number.MAX_SAFE_INTEGER) !== null,
  );
  return fits ? { path: path as PathStep[], pythonType: typeName(value.pythonType) } : null;
}

/** The checks a daemon answers for, in their order. */
export const SANDBOX_CHECKS = ['engine', 'image', 'self_test'] as const;

/** Payload of a READY frame. */
export function encodeStates(states: readonly CheckState[]): Buffer {
  return Buffer.from(
    JSON.stringify(
      states.map(({ check, ok, detail }) => ({ check, ok, detail: detail.slice(0, DETAIL_MAX_CHARS) })),
    ),
  );
}

/** Reads a READY payload; null unless it has each of the sandbox's checks once, in their order. */
export function decodeStates(payload: Buffer): readonly CheckState[] | null {
  const states = jsonValue(payload);
  if (!Array.isArray(states) || states.length !== SANDBOX_CHECKS.length) {
    return null;
  }
  const read = SANDBOX_CHECKS.map((check, index): CheckState | null => {
    const state: unknown = states[index];
    return isObject(state) &&
      state.check === check &&
      typeof state.ok === 'boolean' &&
      typeof state.detail === 'string'
      ? { check, ok: state.ok, detail: state.detail.slice(0, DETAIL_MAX_CHARS) }
      : null;
  });
  return read.every((state) => state !== null) ? read : null;
}
