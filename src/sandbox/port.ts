import type { AdmittedFunction } from '../admission/admit.ts';
import type { CheckState } from '../contract/readiness.ts';
import type { Permit } from '../metering/permit.ts';
import type { SandboxData } from './data.ts';

/** Limits of one run, already clamped to the operator's. */
export interface RunLimits {
  readonly wallMs: number;
  readonly memoryMb: number;
  readonly resultMaxBytes: number;
  readonly resultMaxDepth: number;
  /** A Decimal is written as an exact string instead of a number token. */
  readonly decimalAsString: boolean;
  /** How much printed output and exception text to bring back; 0 = none leaves the container. */
  readonly detailMaxBytes: number;
}

/** What the engine (or, marked so, the harness) measured. A missing reading is null and never fails a run. */
export interface RunUsage {
  /** From the first untrusted byte written to answer, exit or kill. */
  readonly wallNs: bigint;
  readonly cpuSeconds: number | null;
  readonly peakMemoryBytes: number | null;
  readonly peakMemorySource: 'engine' | 'self' | null;
  readonly exitCode: number | null;
  readonly outputBytes: number;
  /** Id of the image, `sha256:…`. */
  readonly image: string;
}

/** A step into the result: an object's key or an array's index. Holds data: mask it before showing it. */
export type PathStep = string | number;

/** Why a function's return value could not become JSON; types only, never the value. */
export interface NotJson {
  readonly path: readonly PathStep[];
  /** A built-in or standard-library type's name, else `object`. */
  readonly pythonType: string;
}

/** Verdicts on a run that ended without an answer of its own. All come from outside the container. */
export type KillReason =
  | 'timeout'
  | 'out_of_memory'
  | 'output_too_large'
  | 'sandbox_crashed'
  | 'sandbox_lost'
  | 'cancelled';

/** How a run ended. All but `notStarted` reached the sandbox, carry a wall time and are metered. */
export type RunReport =
  | {
      readonly kind: 'returned';
      /** The result as JSON text in UTF-8, exactly as Python wrote it, validated again by the host. */
      readonly result: Buffer;
      readonly printed: string | null;
      readonly usage: RunUsage;
    }
  | {
      readonly kind: 'raised';
      /** A built-in exception's name, else `Exception`. */
      readonly exception: string;
      readonly line: number | null;
      readonly text: string | null;
      readonly printed: string | null;
      readonly usage: RunUsage;
    }
  | { readonly kind: 'notJson'; readonly notJson: NotJson; readonly usage: RunUsage }
  | { readonly kind: 'killed'; readonly reason: KillReason; readonly usage: RunUsage }
  | {
      readonly kind: 'notStarted';
      readonly reason:
        | 'sandbox_unavailable'
        | 'overloaded'
        | 'deadline_exceeded'
        | 'cancelled'
        | 'ledger_unavailable';
      /** For the log. */
      readonly detail: string;
    };

/** Moments the sandbox tells its caller, for timings and progress: the run left the queue; the job was sent. */
export interface RunEvents {
  readonly taken?: () => void;
}

/**
 * Runs one admitted, metered function over one set of data in a container that is used once.
 * `signal` ends waiting and running alike. Never throws for an expected ending: those are RunReports.
 */
export interface Sandbox {
  run(
    fn: AdmittedFunction,
    data: SandboxData,
    permit: Permit,
    limits: RunLimits,
    signal: AbortSignal,
    events?: RunEvents,
  ): Promise<RunReport>;
  /** Engine, image and self-test, at most 2 s old. */
  readiness(): Promise<readonly CheckState[]>;
  /** Ends what runs, removes every container of this instance. */
  close(): Promise<void>;
}
