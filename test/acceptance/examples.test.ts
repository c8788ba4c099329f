import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DEMO_STEPS } from '../../examples/demo/steps.ts';
import { functionIn } from '../../examples/plan-runner/model.ts';
import { SETTINGS } from '../../src/config.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';
import { type ScriptedModel, startScriptedModel } from '../fakes/scripted-model.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TSX = join(ROOT, 'node_modules/.bin/tsx');
const AVERAGE = `from statistics import mean

def compute(data):
    return mean(o["price"] for o in data["orders"])
`;
const has = (program: string) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;

let built: BuiltService;
let reply = AVERAGE;
beforeAll(async () => {
  built = await startBuiltService({ answer: () => reply });
  await built.ready();
});
afterAll(async () => {
  await built?.stop();
});
beforeEach(() => {
  reply = AVERAGE;
});

interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs an example as a user does, against the built service; `input` is what stands on its standard input. */
function run(
  program: string,
  args: readonly string[],
  env: Record<string, string | undefined> = {},
  input = '',
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      args,
      {
        cwd: ROOT,
        timeout: 100_000,
        env: {
          ...process.env,
          NO_COLOR: '1',
          COMPUTE_STEP_URL: built.service.api,
          COMPUTE_STEP_KEY: built.key,
          ...env,
        },
      },
      (error, stdout, stderr) =>
        resolve({ code: error?.code ?? (error === null ? 0 : null), stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}

const oneLine = (text: string) => text.trim().split('\n').length === 1 && !text.includes('    at ');

describe.each([
  { example: 'curl', program: 'bash', args: ['examples/curl/step.sh'], needs: 'curl' },
  { example: 'typescript', program: TSX, args: ['examples/typescript/step.ts'], needs: process.execPath },
  { example: 'python', program: 'python3', args: ['examples/python/step.py'], needs: 'python3' },
])('the $example example', ({ example, program, args, needs }) => {
  const there = has(needs);

  it.runIf(there)('takes a step, and the model sees no value', async () => {
    const before = built.model.requests.length;
    const { code, stdout, stderr } = await run(program, args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(example === 'curl' ? /"result":27\.75,/ : /^result +27\.75$/m);
    const [request, ...more] = built.model.requests.slice(before);
    expect(more).toEqual([]);
    expect(request?.body.toString()).toContain('average price');
    expect(request?.body.toString()).not.toMatch(/900719925474099\d|35\.5/);
  });

  it.runIf(there)('ends with 1 where the function was refused or failed', async () => {
    reply = `import socket\n\n${AVERAGE}`;
    const refused = await run(program, args);
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('import: socket')]);
    reply = 'def compute(data):\n    return 1 / 0\n';
    const failed = await run(program, args);
    expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining('exception')]);
  });

  it.runIf(there)('says in one line what is wrong with the key', async () => {
    const wrong = await run(program, args, { COMPUTE_STEP_KEY: 'cs_wrong' });
    expect([wrong.code, wrong.stdout + wrong.stderr]).toEqual([1, expect.stringContaining('unauthorized')]);
    if (example !== 'curl') expect(oneLine(wrong.stderr)).toBe(true);
    for (const key of [undefined, '']) {
      const none = await run(program, args, { COMPUTE_STEP_KEY: key });
      expect([none.code, none.stdout, oneLine(none.stderr)]).toEqual([2, '', true]);
    }
  });
});

describe('the approval gate', () => {
  const gate = (args: readonly string[], env = {}, input = '') =>
    run(TSX, ['examples/approval-gate/run.ts', ...args], env, input);

  it('runs what a person or the rules of the house let through', async () => {
    expect(await gate(['--yes'])).toMatchObject({ code: 0, stdout: 'succeeded: 27.75\n' });
    const asked = await gate([], {}, 'y\n');
    expect([asked.code, asked.stdout]).toEqual([0, expect.stringContaining('succeeded: 27.75')]);
    const refused = await gate([], {}, 'n\n');
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('a person said no')]);
  });

  it('says in one line what is wrong: no key, a wrong one, nobody to ask', async () => {
    for (const key of [undefined, '']) {
      const none = await gate(['--yes'], { COMPUTE_STEP_KEY: key });
      expect([none.code, oneLine(none.stderr)]).toEqual([2, true]);
    }
    const wrong = await gate(['--yes'], { COMPUTE_STEP_KEY: 'cs_wrong' });
    expect([wrong.code, oneLine(wrong.stderr)]).toEqual([1, true]);
    expect(wrong.stderr).toContain('unauthorized');
    const gone = await gate(['--yes'], { COMPUTE_STEP_URL: 'http://127.0.0.1:1' });
    expect([gone.code, oneLine(gone.stderr)]).toEqual([1, true]);
    const nobody = await gate([]);
    expect([nobody.code, nobody.stdout]).toEqual([1, expect.stringContaining('nobody to ask')]);
  });
});

describe('the plan runner', () => {
  const OUT = 'import os\n\ndef compute(data):\n    return "gold"\n';
  const BEST = `Sure:

\`\`\`python
def compute(data):
    return max(data["spent"], key=lambda tier: float(data["spent"][tier]))
\`\`\`
`;
  let model: ScriptedModel;
  beforeAll(async () => {
    model = await startScriptedModel({
      answer: ({ user, attempt }) =>
        user.includes('spent the most') ? (attempt === 1 ? OUT : BEST) : (DEMO_STEPS[0]?.reply ?? ''),
    });
  });
  afterAll(() => model.close());

  it('carries a plan out: its own model sees prompts and refusals, the service’s webhook is not asked', async () => {
    const before = built.model.requests.length;
    const { code, stdout, stderr } = await run(TSX, ['examples/plan-runner/run.ts'], {
      MODEL_URL: model.url,
      MODEL_NAME: 'own-model',
    });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^best: "\w+"$/m);
    expect(stdout).toMatch(/^best +2 attempt\(s\)/m);
    expect(built.model.requests).toHaveLength(before);
    expect(model.requests.map(({ format, attempt, json }) => [format, attempt, json.model])).toEqual([
      ['openai', 1, 'own-model'],
      ['openai', 1, 'own-model'],
      ['openai', 2, 'own-model'],
    ]);
    expect(model.requests[2]?.refusal).toContain('import: os');
    const seen = model.requests.map(({ body }) => body.toString()).join('\n');
    expect(seen.includes('unit_price')).toBe(true);
    for (const name of ['orders', 'customers']) {
      const text = readFileSync(join(ROOT, `examples/demo/${name}.json`), 'utf8');
      const values = [...text.matchAll(/"(?:id|title|email|tracking|note)":"([^"]{6,})"/g)];
      expect(values.length).toBeGreaterThan(10);
      expect(values.map(([, value]) => value as string).filter((value) => seen.includes(value))).toEqual([]);
    }
    // The result of the first step is data of the second, its keys too: the tiers are values of the customers.
    const best = /^best: "(\w+)"$/m.exec(stdout)?.[1] ?? 'nothing';
    expect([best.length > 3, seen.includes(best)]).toEqual([true, false]);
  });

  it('says in one line what it lacks, and what went wrong', async () => {
    for (const lacking of [{ MODEL_URL: undefined }, { MODEL_URL: model.url, COMPUTE_STEP_KEY: '' }]) {
      const none = await run(TSX, ['examples/plan-runner/run.ts'], lacking);
      expect([none.code, oneLine(none.stderr)]).toEqual([2, true]);
    }
    const wrong = await run(TSX, ['examples/plan-runner/run.ts'], {
      MODEL_URL: model.url,
      COMPUTE_STEP_KEY: 'cs_wrong',
    });
    expect([wrong.code, oneLine(wrong.stderr)]).toEqual([1, true]);
    expect(wrong.stderr).toContain('unauthorized');
  });

  it.each([
    ['def compute(data):\n    return 1\n', 'def compute(data):\n    return 1\n'],
    ['Here:\n```python\ndef compute(data):\n    return 2\n```\nDone.', 'def compute(data):\n    return 2\n'],
    ['```\nx\n```\n```py\ndef compute(d):\n    pass\n```\n```sh\nls\n```', 'def compute(d):\n    pass\n'],
    ['no function', 'no function'],
  ])('finds the function in %j', (text, code) => {
    expect(functionIn(text)).toBe(code);
  });
});

const ENV_FOLDER = join(ROOT, 'examples/openai-compatible/');
const ENV_FILES = readdirSync(ENV_FOLDER).filter((name) => name.endsWith('.env'));

describe('the settings for OpenAI-compatible servers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'compute-step-env-'));
  const record = join(folder, 'record.jsonl');
  let model: ChildProcess;
  let hostPort: string;
  beforeAll(async () => {
    const script = join(folder, 'answers.json');
    writeFileSync(script, JSON.stringify([{ replies: [AVERAGE] }]));
    model = spawn(
      process.execPath,
      ['dist/main.js', 'model', '--script', script, '--port', '0', '--record', record],
      { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [first] = (await once(model.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
    hostPort = /^listening http:\/\/([\d.:]+)\/write$/m.exec(first.toString())?.[1] ?? '';
  });
  afterAll(async () => {
    if (model.exitCode === null) {
      const exited = once(model, 'exit');
      model.kill('SIGTERM');
      await exited;
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it('are there for each of the servers', () => {
    expect(ENV_FILES.sort()).toEqual(['litellm.env', 'llama-cpp.env', 'ollama.env', 'vllm.env']);
  });

  it.each(ENV_FILES)('%s starts the service with that model behind it', async (name) => {
    const settings = settingsOf(name);
    const { port } = new URL(settings.MODEL_WEBHOOK_URL ?? '');
    expect(settings.MODEL_ALLOWED_HOSTS).toBe(`127.0.0.1:${port}`);
    const secret = join(folder, 'authorization');
    writeFileSync(secret, 'Bearer a-key-of-the-server');
    // As they stand in the file, but for the port, the secret’s path, and the signing that the other tests have.
    const env = Object.fromEntries(
      Object.entries(settings).map(([key, value]) => [
        key,
        key.endsWith('_FILE') ? secret : value.replace(`127.0.0.1:${port}`, hostPort),
      ]),
    );
    const own = await startBuiltService({
      env: { SANDBOX_POOL_SIZE: '0', MODEL_SIGNING_SECRET: '', ...env },
    });
    try {
      const step = { step: 'x', sources: [{ name: 'orders', result: [{ price: 1 }] }] };
      const { status, json } = await own.post('/v1/compute/draft', step);
      expect([status, json.state]).toEqual([200, 'admitted']);
      const last = JSON.parse(readFileSync(record, 'utf8').trimEnd().split('\n').at(-1) ?? '');
      expect(last).toMatchObject({
        path: '/v1/chat/completions',
        format: 'openai',
        signature: 'absent',
        body: { model: settings.MODEL_NAME, messages: [{ role: 'system' }, { role: 'user' }] },
      });
      expect('authorization' in last.headers).toBe('MODEL_AUTHORIZATION_FILE' in settings);
    } finally {
      await own.stop();
    }
  });

  /** The lines that are in force, as `sh`, systemd and Compose read them. Every name is a setting. */
  function settingsOf(name: string): Record<string, string> {
    const lines = readFileSync(join(ENV_FOLDER, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    const all = lines.map((line) => /^(#?)([A-Z][A-Z_]*)=(\S+)$/.exec(line));
    expect(lines.filter((line, at) => all[at] === null && !line.startsWith('# '))).toEqual([]);
    const known = (setting: string) => setting.replace(/_FILE$/, '') in SETTINGS || setting in SETTINGS;
    expect(all.map((match) => match?.[2] ?? 'PORT').filter((setting) => !known(setting))).toEqual([]);
    return Object.fromEntries(
      all.flatMap((match) => (match?.[1] === '' ? [[match[2] as string, match[3] as string]] : [])),
    );
  }
});
