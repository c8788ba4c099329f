import type { AdmittedFunction } from '../admission/admit.ts';
import type { AdmissionRefusal } from '../contract/admission.ts';
import type { Attempt } from '../contract/computation.ts';
import type { Problem } from '../contract/problem.ts';

/** What writing came to, and every attempt it took. */
export type Written = (
  | { readonly kind: 'admitted'; readonly fn: AdmittedFunction }
  | { readonly kind: 'not_admitted'; readonly refusal: AdmissionRefusal; readonly source: string }
  | { readonly kind: 'failed'; readonly problem: Problem }
) & { readonly attempts: readonly Attempt[]; readonly admissionMs: number };
