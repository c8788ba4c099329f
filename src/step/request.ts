import type { CacheMode } from '../contract/cache.ts';
import type { JsonObject, ResultAsk } from '../contract/result-type.ts';
import type { KeyPolicy } from '../contract/source.ts';
import type { Tenant } from '../contract/tenant.ts';
import type { ScannedSource } from '../json/source.ts';
import type { ModelTarget } from '../model/port.ts';
import type { Draft } from '../model/reply.ts';

/** A scanned source and how its schema is to be shown. */
export interface StepSource extends ScannedSource {
  readonly keys: KeyPolicy;
  readonly declared: JsonObject | null;
}

/** A model that is asked with an instruction, at most `maxAttempts` times. */
export interface ModelOrigin {
  readonly from: 'model';
  readonly instruction: string;
  readonly target: ModelTarget;
  readonly maxAttempts: number;
  readonly cache: CacheMode;
}

/** Where the function comes from: a model, or the caller's own code. */
export type FunctionOrigin =
  | ModelOrigin
  | { readonly from: 'caller'; readonly draft: Draft; readonly expectSha256: string | null };

/** One compute step, valid in itself: everything a caller could have got wrong was refused before. */
export interface StepRequest {
  /** UUID v7: of the Computation, the run in the ledger, the log line and the webhook. */
  readonly id: string;
  readonly tenant: Tenant;
  readonly origin: FunctionOrigin;
  readonly result: ResultAsk;
  readonly sources: readonly StepSource[];
  /** Each at most the operator's. */
  readonly limits: { readonly wallMs: number; readonly memoryMb: number };
  readonly includeCode: boolean;
  readonly includeDetail: boolean;
  readonly traceparent: string | null;
  /** SHA-256 of tenant and Idempotency-Key, and how long the key is held; null without one. */
  readonly idempotency: { readonly digest: string; readonly ttlMs: number } | null;
}
