import type { RunLimits } from './port.ts';
import { isObject, jsonObject, PROTOCOL, wholeNumber } from './wire.ts';

/** What the API asks of the daemon besides code and data. Nothing in it reaches the create options. */
export interface RunHeader {
  readonly runId: string;
  /** For turns in the queue. */
  readonly tenant: string;
  /** UTC month of the permit, `yyyy-mm`. */
  readonly month: string;
  /** Hex SHA-256 of the function as the API admitted it. */
  readonly codeSha256: string;
  readonly dataBytes: number;
  readonly limits: RunLimits;
}

/** Largest payload of a RUN frame: its fields have bounds, the rest is room for fields of later versions. */
export const RUN_HEADER_MAX_BYTES = 4 * 1024;

const RUN_ID = /^[0-9A-Za-z-]{1,64}$/;
const TENANT = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
const SHA256 = /^[0-9a-f]{64}$/;

const HOUR_MS = 3_600_000;
const UINT32_MAX = 2 ** 32 - 1;
const MEMORY_MAX_MB = 1024 * 1024;

/** Payload of a RUN frame. */
export function encodeRunHeader(header: RunHeader): Buffer {
  const { limits } = header;
  return Buffer.from(
    JSON.stringify({
      protocol: PROTOCOL,
      run_id: header.runId,
      tenant: header.tenant,
      month: header.month,
      code_sha256: header.codeSha256,
      data_bytes: header.dataBytes,
      limits: {
        wall_ms: limits.wallMs,
        memory_mb: limits.memoryMb,
        result_max_bytes: limits.resultMaxBytes,
        result_max_depth: limits.resultMaxDepth,
        decimal_as_string: limits.decimalAsString,
        detail_max_bytes: limits.detailMaxBytes,
      },
    }),
  );
}

/**
 * Reads a RUN payload: every field by its name, form and range, into an object of its own; fields it does not know
 * are dropped. Null if one is missing or wrong: a number as text is not a number.
 */
export function decodeRunHeader(payload: Buffer): RunHeader | null {
  const header = jsonObject(payload);
  if (header === null || header.protocol !== PROTOCOL) {
    return null;
  }
  const runId = matching(header.run_id, RUN_ID);
  const tenant = matching(header.tenant, TENANT);
  const month = matching(header.month, MONTH);
  const codeSha256 = matching(header.code_sha256, SHA256);
  const dataBytes = wholeNumber(header.data_bytes, 0, UINT32_MAX);
  const limits = limitsOf(header.limits);
  if (
    runId === null ||
    tenant === null ||
    month === null ||
    codeSha256 === null ||
    dataBytes === null ||
    limits === null
  ) {
    return null;
  }
  return { runId, tenant, month, codeSha256, dataBytes, limits };
}

/** The operator's own limits, in the daemon. */
export type LimitCaps = Omit<RunLimits, 'decimalAsString'>;

/** A run's limits, each at most the operator's. */
export function clampLimits(limits: RunLimits, caps: LimitCaps): RunLimits {
  return {
    wallMs: Math.min(limits.wallMs, caps.wallMs),
    memoryMb: Math.min(limits.memoryMb, caps.memoryMb),
    resultMaxBytes: Math.min(limits.resultMaxBytes, caps.resultMaxBytes),
    resultMaxDepth: Math.min(limits.resultMaxDepth, caps.resultMaxDepth),
    decimalAsString: limits.decimalAsString,
    detailMaxBytes: Math.min(limits.detailMaxBytes, caps.detailMaxBytes),
  };
}

function limitsOf(value: unknown): RunLimits | null {
  if (!isObject(value)) {
    return null;
  }
  const wallMs = value.wall_ms;
  const memoryMb = wholeNumber(value.memory_mb, 1, MEMORY_MAX_MB);
  const resultMaxBytes = wholeNumber(value.result_max_bytes, 1, UINT32_MAX);
  const resultMaxDepth = wholeNumber(value.result_max_depth, 1, 10_000);
  const detailMaxBytes = wholeNumber(value.detail_max_bytes, 0, UINT32_MAX);
  const decimalAsString = value.decimal_as_string;
  if (
    typeof wallMs !== 'number' ||
    !(wallMs > 0 && wallMs <= HOUR_MS) ||
    memoryMb === null ||
    resultMaxBytes === null ||
    resultMaxDepth === null ||
    detailMaxBytes === null ||
    typeof decimalAsString !== 'boolean'
  ) {
    return null;
  }
  return { wallMs, memoryMb, resultMaxBytes, resultMaxDepth, decimalAsString, detailMaxBytes };
}

function matching(value: unknown, pattern: RegExp): string | null {
  return typeof value === 'string' && pattern.test(value) ? value : null;
}
