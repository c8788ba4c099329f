import { randomBytes } from 'node:crypto';
import type { AdmittedFunction } from '../admission/admit.ts';
import { answerMaxBytes, isSealed } from './answer.ts';
import type { SandboxData } from './data.ts';
import { encodeJob } from './frames.ts';
import type { RunLimits } from './port.ts';

/** The one job of a container, and where it ends. */
export interface ContainerJob {
  readonly frame: readonly Buffer[];
  readonly wallMs: number;
  /** Largest ANSWER payload. */
  readonly answerMaxBytes: number;
  /** stdout and stderr together, in bytes; past it the container is killed. */
  readonly outputMaxBytes: number;
  /** Whether an ANSWER may be taken before the exit is known. */
  readonly sealed: (payload: Buffer) => boolean;
}

/** Room beside the answer for what is written to stderr before it counts as a flood. */
const STRAY_OUTPUT_BYTES = 64 * 1024;

/** The job of running a function over data under limits, with a seal of its own. */
export function containerJob(fn: AdmittedFunction, data: SandboxData, limits: RunLimits): ContainerJob {
  const seal = randomBytes(16).toString('hex');
  const header = {
    wall_seconds: limits.wallMs / 1000,
    result_max_bytes: limits.resultMaxBytes,
    result_max_depth: limits.resultMaxDepth,
    decimal_as_string: limits.decimalAsString,
    detail_max_bytes: limits.detailMaxBytes,
    seal,
  };
  const maxBytes = answerMaxBytes(limits);
  return {
    frame: encodeJob(header, Buffer.from(fn.text), data),
    wallMs: limits.wallMs,
    answerMaxBytes: maxBytes,
    outputMaxBytes: maxBytes + STRAY_OUTPUT_BYTES,
    sealed: (payload) => isSealed(payload, seal),
  };
}
