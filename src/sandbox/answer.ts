import { timingSafeEqual } from 'node:crypto';
import { scanValue } from '../json/scan.ts';
import type { NotJson, PathStep, RunLimits } from './port.ts';
import { exceptionName, typeName } from './python-names.ts';

/** What the harness says of itself. A function that broke out can forge it: for show, never for the meter. */
export interface SelfReading {
  readonly cpuSeconds: number | null;
  readonly peakMemoryBytes: number | null;
}

/** An ANSWER after the host has looked at every byte of it. `garbled`: the harness would not have written it. */
export type Answer =
  | (SelfReading & { readonly kind: 'returned'; readonly result: Buffer; readonly printed: string | null })
  | (SelfReading & {
      readonly kind: 'raised';
      readonly exception: string;
      readonly line: number | null;
      readonly text: string | null;
      readonly printed: string | null;
    })
  | (SelfReading & { readonly kind: 'notJson'; readonly notJson: NotJson })
  | (SelfReading & { readonly kind: 'tooLarge' })
  | { readonly kind: 'garbled' };

export type AnswerBounds = Pick<RunLimits, 'resultMaxBytes' | 'resultMaxDepth' | 'detailMaxBytes'> & {
  /** Lines of the function: an exception's line is one of them or none. */
  readonly lineCount: number;
};

const PATH_MAX_STEPS = 100;
const PATH_STEP_MAX_CHARS = 200;
/** Room for the fixed members and a longest path, each character escaped as a surrogate pair. */
const HEADER_BASE_BYTES = 16 * 1024 + PATH_MAX_STEPS * PATH_STEP_MAX_CHARS * 12;
/** Text and prints, each byte of them escaped as \u00XX. */
const DETAIL_FACTOR = 2 * 6;

/** The largest ANSWER payload, in bytes, that the harness would write under these limits. */
export function answerMaxBytes(limits: Pick<RunLimits, 'resultMaxBytes' | 'detailMaxBytes'>): number {
  return limits.resultMaxBytes + HEADER_BASE_BYTES + DETAIL_FACTOR * limits.detailMaxBytes;
}

type Header = Readonly<Record<string, unknown>>;

/** Header and result of an ANSWER payload (u32 big-endian header length, header JSON, result), or null. */
function split(payload: Buffer): { header: Header; result: Buffer } | null {
  if (payload.byteLength < 4) {
    return null;
  }
  const end = 4 + payload.readUInt32BE(0);
  if (end > payload.byteLength) {
    return null;
  }
  try {
    const header: unknown = JSON.parse(payload.toString('utf8', 4, end));
    return isObject(header) ? { header, result: payload.subarray(end) } : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Header {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Whether an ANSWER carries the seal its JOB was sent with: the harness's word that this is its own answer and
 * that its next act is to exit with 0. An answer with it need not wait for the engine to report the exit, which
 * takes ten times as long as a small run. It proves nothing against a function that reads the harness's memory;
 * such a function can say by it only what it could have returned.
 */
export function isSealed(payload: Buffer, seal: string): boolean {
  const given = split(payload)?.header.seal;
  if (typeof given !== 'string') {
    return false;
  }
  const [a, b] = [Buffer.from(given), Buffer.from(seal)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}

/**
 * Reads an ANSWER payload as the hostile input it is: closed sets for names, bounds for all else, and the result
 * scanned again as a source would be (grammar, UTF-8, depth, duplicate keys).
 */
export function readAnswer(payload: Buffer, bounds: AnswerBounds): Answer {
  const parts = split(payload);
  if (parts === null) {
    return { kind: 'garbled' };
  }
  const { header, result } = parts;
  const reading = selfReading(header);
  if (header.status !== 'returned' && result.byteLength > 0) {
    return { kind: 'garbled' };
  }
  switch (header.status) {
    case 'returned': {
      if (result.byteLength > bounds.resultMaxBytes) {
        return { kind: 'tooLarge', ...reading };
      }
      const scanned = scanValue(result, { maxDepth: bounds.resultMaxDepth });
      if (scanned.kind !== 'scanned') {
        // An honest object may have more keys than are looked through for repeated ones (OBJECT_KEYS_MAX).
        return scanned.code === 'too_many_keys' ? { kind: 'tooLarge', ...reading } : { kind: 'garbled' };
      }
      return { kind: 'returned', result, printed: detail(header.printed, bounds), ...reading };
    }
    case 'raised':
      return {
        kind: 'raised',
        exception: exceptionName(header.exception),
        line: lineOf(header.line, bounds.lineCount),
        text: detail(header.text, bounds),
        printed: detail(header.printed, bounds),
        ...reading,
      };
    case 'not_json': {
      const path = pathOf(header.path);
      return path === null
        ? { kind: 'garbled' }
        : { kind: 'notJson', notJson: { path, pythonType: typeName(header.python_type) }, ...reading };
    }
    case 'too_large':
      return { kind: 'tooLarge', ...reading };
    default:
      return { kind: 'garbled' };
  }
}

function selfReading(header: Header): SelfReading {
  const cpuNs = count(header.cpu_ns);
  return { cpuSeconds: cpuNs === null ? null : cpuNs / 1e9, peakMemoryBytes: count(header.maxrss_bytes) };
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function lineOf(value: unknown, lineCount: number): number | null {
  const line = count(value);
  return line !== null && line >= 1 && line <= lineCount ? line : null;
}

/** Text cut to `detailMaxBytes` of UTF-8 at a character; null where none was asked for. */
function detail(value: unknown, bounds: AnswerBounds): string | null {
  if (typeof value !== 'string' || bounds.detailMaxBytes === 0) {
    return null;
  }
  const bytes = Buffer.from(value);
  if (bytes.byteLength <= bounds.detailMaxBytes) {
    // Through bytes and back, so that a lone surrogate does not get any further.
    return bytes.toString('utf8');
  }
  let end = bounds.detailMaxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) {
    end -= 1;
  }
  return bytes.toString('utf8', 0, end);
}

function pathOf(value: unknown): readonly PathStep[] | null {
  if (!Array.isArray(value) || value.length > PATH_MAX_STEPS) {
    return null;
  }
  const steps: PathStep[] = [];
  for (const step of value as unknown[]) {
    if (typeof step === 'string' && step.length <= 2 * PATH_STEP_MAX_CHARS) {
      steps.push(step);
    } else if (count(step) !== null) {
      steps.push(step as number);
    } else {
      return null;
    }
  }
  return steps;
}
