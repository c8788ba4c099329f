/** A step as a plan runner has it: the body of `POST /v1/compute`. */
export interface Step {
  readonly step: string;
  readonly result_type: string;
  readonly sources: readonly { readonly name: string; readonly result: unknown }[];
  readonly [member: string]: unknown;
}

/** What `POST /v1/compute/draft` answers, as far as a gate looks at it. */
export interface Draft {
  readonly state: 'admitted' | 'not_admitted';
  readonly code: string;
  readonly code_sha256: string;
  readonly admission: { readonly rule?: string; readonly line?: number; readonly hint?: string };
  readonly prompt: { readonly text: string };
}

/** Looks at a function that admission let through; answers why it may not run, or null. May ask a person. */
export type Policy = (draft: Draft, step: Step) => Promise<string | null>;

/** How a step went through the gate. `answer` is the Computation. */
export type Passage =
  | { readonly passed: true; readonly answer: Readonly<Record<string, unknown>> }
  | { readonly passed: false; readonly why: string };

/** The service: where it is, and the tenant's key. */
export interface Service {
  readonly url: string;
  readonly key: string;
}

/** What a run takes of a step; the rest is for the model. */
const RUN_MEMBERS = [
  'sources',
  'result_type',
  'nullable',
  'result_schema',
  'limits',
  'timeout_seconds',
  'include',
];

/**
 * Has a function drafted, shows it to the policy, and runs that very function: its digest goes along, so what runs
 * is what was approved, however long the approval took. Nothing is held open on the service in between.
 */
export async function throughGate(service: Service, step: Step, policy: Policy): Promise<Passage> {
  const draft = (await post(service, '/v1/compute/draft', step)) as unknown as Draft;
  if (draft.state !== 'admitted') {
    return { passed: false, why: `refused by admission: ${draft.admission.rule}. ${draft.admission.hint}` };
  }
  const why = await policy(draft, step);
  if (why !== null) {
    return { passed: false, why: `refused by the policy: ${why}` };
  }
  const wanted = Object.fromEntries(
    RUN_MEMBERS.filter((name) => name in step).map((name) => [name, step[name]]),
  );
  const run = { ...wanted, code: draft.code, expect_code_sha256: draft.code_sha256 };
  return { passed: true, answer: await post(service, '/v1/compute/run', run) };
}

async function post(
  { url, key }: Service,
  path: string,
  body: object,
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const json = (await answer.json()) as Readonly<Record<string, unknown>>;
  if (!answer.ok) {
    // A problem (RFC 9457): its code is stable, its detail names the field and the fix.
    throw new Error(`${path}: ${json.code}: ${json.detail}`);
  }
  return json;
}
