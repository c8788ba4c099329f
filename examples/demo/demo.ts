import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answersOf } from '../../src/model/script.ts';
import { type ScriptedModel, startScriptedModel } from '../../src/model/scripted.ts';
import { createKey } from '../../src/tenants.ts';

import { FROM_SOURCE, type RunningService, startService } from './service.ts';
import { block, field, heading, note } from './show.ts';
import { DEMO_STEPS, type DemoStep } from './steps.ts';

const HERE = fileURLToPath(new URL('./', import.meta.url));
const ROOT = join(HERE, '../../');

/** The answer of a step, as far as the demo shows it. */
interface Shown {
  readonly state: string;
  readonly result?: unknown;
  readonly admission: {
    readonly rule?: string;
    readonly line?: number;
    readonly message?: string;
    readonly hint?: string;
  };
  readonly failure: { readonly code: string; readonly exception?: string; readonly line?: number } | null;
  readonly function: { readonly code?: string };
  readonly metered: { readonly compute_runs: number; readonly compute_seconds: number };
  readonly timings_ms: Readonly<Record<string, number>>;
}

/** Runs a command of the project and shows only what it says. */
function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
}

async function main(keep: boolean): Promise<void> {
  const told = toldToEnd();
  const startedAt = Date.now();
  run('bash', ['sandbox-image/engine.sh']);
  run(process.execPath, ['--import', 'tsx', 'sandbox-image/build.ts']);

  const folder = mkdtempSync(join(tmpdir(), 'compute-step-demo-'));
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const model = await startScriptedModel({
    signingSecret: secret,
    answer: answersOf(DEMO_STEPS.map((step) => ({ when: step.instruction, replies: [step.reply] }))),
  });
  const { key, entry } = createKey('demo', 1000, 3600);
  writeFileSync(join(folder, 'tenants.json'), JSON.stringify({ tenants: [entry] }));
  const starting = startService(
    {
      PORT: '0',
      METRICS_PORT: '0',
      TENANTS_FILE: join(folder, 'tenants.json'),
      LEDGER_URL: `sqlite:${join(folder, 'ledger.db')}`,
      MODEL_WEBHOOK_URL: model.url,
      MODEL_SIGNING_SECRET: secret,
      MODEL_ALLOWED_HOSTS: model.hostPort,
    },
    () => {},
    FROM_SOURCE,
    { apart: true },
  );
  const walk = async (): Promise<void> => {
    const service = await starting;
    await ready(service);
    for (const [index, step] of DEMO_STEPS.entries()) {
      await show(service, key, model, step, index + 1);
    }
    await showUsage(service, key);
    note(`\nThe whole demo took ${((Date.now() - startedAt) / 1000).toFixed(0)} s.`);
    if (keep) {
      keepRunning(service, key, folder);
      await told;
    }
  };
  try {
    await Promise.race([walk(), told]);
  } finally {
    const service = await starting;
    await service.stop();
    await model.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Resolves when the demo is told to end. Told more than once, as Ctrl-C under npm does, it still tidies up once. */
function toldToEnd(): Promise<void> {
  return new Promise((done) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => done());
    }
  });
}

/** The self-test starts a container first; a slow machine may need a while. */
async function ready(service: RunningService): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await fetch(`${service.api}/readyz`);
    if (answer.ok) {
      return;
    }
    if (attempt === 120) {
      throw new Error(`the service is not ready: ${await answer.text()}`);
    }
    await new Promise((done) => setTimeout(done, 500));
  }
}

async function call(service: RunningService, key: string, path: string, body?: object): Promise<unknown> {
  const send = () =>
    fetch(`${service.api}${path}`, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
  let answer = await send();
  // What every client should do with a 503: nothing was asked, run or counted, so try again when it says.
  for (let attempt = 0; answer.status === 503 && attempt < 10; attempt += 1) {
    const seconds = Number(answer.headers.get('retry-after') ?? 1);
    await new Promise((done) => setTimeout(done, seconds * 1000));
    answer = await send();
  }
  if (!answer.ok) {
    throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  }
  return answer.json();
}

function sourceOf(name: string): object {
  return { tool: `list_${name}`, name, result_json: readFileSync(join(HERE, `${name}.json`), 'utf8') };
}

async function show(
  service: RunningService,
  key: string,
  model: ScriptedModel,
  step: DemoStep,
  number: number,
): Promise<void> {
  const body = {
    step: step.instruction,
    result_type: step.resultType,
    sources: step.sources.map(sourceOf),
    include: ['code'],
  };
  const answer = (await call(service, key, '/v1/compute', body)) as Shown;
  heading(`${number}. ${step.title}`);
  field('step', step.instruction);
  block('schema    (all that the model sees of the data)', schemaLines(model.requests.at(-1)?.json.schema));
  block('function', answer.function.code ?? '');
  field('state', answer.state, answer.state === 'succeeded' ? 'green' : 'yellow');
  if (answer.state === 'succeeded') {
    field('result', JSON.stringify(answer.result), 'bold');
  }
  if (answer.state === 'not_admitted') {
    field('rule', `${answer.admission.rule}, line ${answer.admission.line}`);
    field('hint', answer.admission.hint ?? '');
  }
  if (answer.state === 'failed') {
    field('failure', `${answer.failure?.code}: ${answer.failure?.exception}, line ${answer.failure?.line}`);
  }
  field(
    'metered',
    `${answer.metered.compute_runs} compute_runs, ${answer.metered.compute_seconds} compute_seconds`,
  );
  field(
    'timings',
    Object.entries(answer.timings_ms)
      .map(([phase, ms]) => `${phase} ${ms.toFixed(1)} ms`)
      .join(', '),
  );
}

/** One line a source. */
function schemaLines(schema: unknown): string {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, unknown> };
  return Object.entries(properties)
    .map(([name, part]) => `${name}: ${JSON.stringify(part)}`)
    .join('\n');
}

async function showUsage(service: RunningService, key: string): Promise<void> {
  heading('Usage of this month');
  const usage = (await call(service, key, '/v1/usage')) as Record<string, unknown>;
  for (const [name, value] of Object.entries(usage)) {
    field(name.padEnd(16), JSON.stringify(value));
  }
}

function keepRunning(service: RunningService, key: string, folder: string): void {
  heading('The service keeps running');
  const example = {
    code: 'def compute(data):\n    return sum(data["xs"])\n',
    sources: [{ name: 'xs', result: [1, 2, 3] }],
  };
  console.log(`Try it, and end it with Ctrl-C:\n
curl -sS ${service.api}/v1/compute/run \\
  -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
  -d '${JSON.stringify(example)}'

Description: ${service.api}/docs   Metrics: ${service.metrics}   Files: ${folder}`);
}

try {
  await main(process.argv.includes('--keep'));
  // A walk that was told to end is given up, not waited for.
  process.exit();
} catch (error) {
  // The scripts above have said in one line what to do; a stack would only hide it.
  console.error(`demo: ${(error as Error).message.split('\n', 1)[0]}`);
  // What was started may still be held open: nothing is waited for.
  process.exit(1);
}
