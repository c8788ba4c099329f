import { type Client, type ComputationAnswer, withRetries } from '../../src/client/client.ts';

/** One item of a plan: a tool to call, or a question of what earlier items gave. */
export type PlanItem =
  | { readonly id: string; readonly tool: string }
  | {
      readonly id: string;
      readonly compute: string;
      readonly result_type: ComputationAnswer['result_type'];
      readonly from: readonly string[];
    };
export type Plan = readonly PlanItem[];

/** What an item gave: JSON text, and whether the keys in it are names or may be data. */
export interface Result {
  readonly json: string;
  readonly keys: 'auto' | 'data';
}
export type Results = ReadonlyMap<string, Result>;

/** Tools by name; each returns JSON text. */
export type Tools = Readonly<Record<string, () => Promise<string>>>;

/** Writes a function for a prompt; `refused`: the function before, and why admission refused it. */
export type Model = (
  prompt: { readonly system: string; readonly user: string },
  refused: { readonly code: string; readonly why: string } | null,
) => Promise<string>;

export interface Runner {
  readonly client: Client;
  readonly tools: Tools;
  readonly model: Model;
  /** Told of each item when it is done. Not of values: those stay in the plan's memory. */
  readonly done?: (id: string, what: string) => void;
}

/** Functions asked for in one step: the first, and one more after a refusal. */
const MAX_ATTEMPTS = 2;
const DEADLINE_MS = 120_000;

/**
 * Takes a plan item by item and answers what each gave. The model is the runner's own: it sees prompts, which hold the
 * schema of the data; the data goes to the sandbox and to nobody else.
 */
export async function runPlan(plan: Plan, runner: Runner, planId: string): Promise<Results> {
  const results = new Map<string, Result>();
  for (const item of plan) {
    if ('tool' in item) {
      const tool = runner.tools[item.tool];
      if (tool === undefined) throw new Error(`${item.id}: there is no tool ${item.tool}`);
      // A tool's keys are names; where they are not, its declared `schema` or `keys: 'data'` belongs here.
      results.set(item.id, { json: await tool(), keys: 'auto' });
      runner.done?.(item.id, item.tool);
    } else {
      // A function may make keys of values, such as a sum for each customer: its keys are not shown to the model.
      results.set(item.id, { json: await computeStep(item, results, runner, planId), keys: 'data' });
    }
  }
  return results;
}

type ComputeItem = Extract<PlanItem, { compute: string }>;

/** prompt → own model → admission → run. Throws what is worth telling the planner. */
async function computeStep(
  item: ComputeItem,
  results: Results,
  { client, model, done }: Runner,
  planId: string,
): Promise<string> {
  const sources = item.from.map((name) => {
    const result = results.get(name);
    if (result === undefined) throw new Error(`${item.id}: ${name} is not there yet`);
    return { name, result_json: result.json, keys: result.keys };
  });
  const asked = { sources, result_type: item.result_type };
  const { prompt } = await client.prompt({ step: item.compute, ...asked });
  const { code, sha256, attempts } = await admitted(item.id, prompt, client, model);
  // A key that the plan's id makes: a plan that is taken up again after a crash does not pay twice for a run.
  const answer = await withRetries(
    (attempt) => client.run({ code, ...asked, expect_code_sha256: sha256 }, attempt),
    { deadlineMs: DEADLINE_MS, idempotencyKey: `${planId}/${item.id}/${sha256}` },
  );
  if (answer.resultText === null) {
    throw new Error(`${item.id}: ${answer.failure?.code} (line ${answer.failure?.line ?? '-'})`);
  }
  done?.(item.id, `${attempts} attempt(s), ${answer.metered.compute_seconds} s metered`);
  return answer.resultText;
}

/** A function that admission lets through. Only what admission said goes back to the model, never what a run did. */
async function admitted(
  id: string,
  prompt: Parameters<Model>[0],
  client: Client,
  model: Model,
): Promise<{ readonly code: string; readonly sha256: string; readonly attempts: number }> {
  let refused: Parameters<Model>[1] = null;
  for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts += 1) {
    const code: string = await model(prompt, refused);
    const { admission, code_sha256: sha256 } = await client.admit({ code });
    if (admission.admitted) return { code, sha256, attempts };
    const { rule, line, message, hint } = admission;
    refused = { code, why: `Line ${line}: ${rule}. ${message} ${hint}` };
  }
  throw new Error(`${id}: no function was admitted. ${refused?.why}`);
}
