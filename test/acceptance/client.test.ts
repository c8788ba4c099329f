import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type * as ClientModule from '../../src/client/client.ts';
import {
  AdmitAnswerSchema,
  CapabilitiesSchema,
  HealthSchema,
  PromptAnswerSchema,
  PromptPackSchema,
  ReadinessSchema,
  UsageSchema,
} from '../../src/contract/answer.ts';
import { ComputationSchema, DraftSchema } from '../../src/contract/computation.ts';
import { faultChecker } from '../../src/contract/faults.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BUILT = join(ROOT, 'dist/client/');
const folder = mkdtempSync(join(tmpdir(), 'compute-step-client-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const node = (code: string, cwd: string) =>
  execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd, encoding: 'utf8' });
const MAKES_ONE = `const { createClient } = await import('compute-step/client');
console.log(typeof createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'x' }).compute);`;

describe('the package’s ./client', () => {
  it('needs no other file and no library, so that it loads wherever there is a fetch', () => {
    const seen = new Set<string>();
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      const code = readFileSync(join(BUILT, file), 'utf8');
      expect(code, file).not.toMatch(/\b(?:import|require)\s*\(|\bprocess\b|\bBuffer\b/);
      for (const [, name] of code.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)'|^import '([^']+)'/gm)) {
        expect(name, `an import of ${file}`).toMatch(/^\.\/[\w-]+\.js$/);
        visit((name as string).slice(2));
      }
    };
    visit('client.js');
    expect(seen.size).toBeGreaterThan(4);

    // And so it does: alone in a folder, without node_modules.
    const alone = join(folder, 'alone');
    cpSync(BUILT, join(alone, 'client'), { recursive: true });
    writeFileSync(join(alone, 'package.json'), '{"type":"module"}');
    expect(node(MAKES_ONE.replace('compute-step/client', './client/client.js'), alone)).toBe('function\n');
  });

  it('is found by its name, with types that refuse a wrong request', () => {
    const project = join(folder, 'project');
    mkdirSync(join(project, 'node_modules'), { recursive: true });
    symlinkSync(ROOT, join(project, 'node_modules/compute-step'), 'dir');
    writeFileSync(join(project, 'package.json'), '{"type":"module"}');
    expect(node(MAKES_ONE, project)).toBe('function\n');

    const compilerOptions = {
      target: 'es2023',
      lib: ['es2023', 'dom'],
      module: 'nodenext',
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: [],
    };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['use.ts'] }));
    const compile = (line: string): string => {
      writeFileSync(
        join(project, 'use.ts'),
        `import { type ComputationAnswer, createClient, withRetries } from 'compute-step/client';
const client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'x' });
export const answer: ComputationAnswer = await withRetries(
  (attempt) => client.compute({ step: 'x', sources: [{ result: 1 }] }, attempt),
  { deadlineMs: 1000 },
);
${line}
`,
      );
      try {
        return execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', '.'], {
          cwd: project,
          encoding: 'utf8',
        });
      } catch (error) {
        return (error as { readonly stdout: string }).stdout;
      }
    };
    expect(compile("export const state: 'succeeded' | 'failed' | 'not_admitted' = answer.state;")).toBe('');
    expect(compile("await client.compute({ steps: 'x', sources: [] });")).toContain("'steps' does not exist");
    expect(compile('export const code: number = answer.failure?.code;')).toContain('use.ts(7,');
  });

  it('is in what npm packs, with the types it refers to', () => {
    const [{ files }] = JSON.parse(
      execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'], {
        cwd: ROOT,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    ) as [{ files: { path: string }[] }];
    const packed = files.map(({ path }) => path);
    expect(packed).toEqual(
      expect.arrayContaining([
        'dist/client/client.js',
        'dist/client/client.d.ts',
        'dist/contract/computation.d.ts',
        'dist/main.js',
        'src/prompt/packs/python-stdlib/pack.json',
        'sandbox-image/Dockerfile',
      ]),
    );
    expect(packed.filter((path) => /^test\/|^data\/|^\.|\.db$/.test(path))).toEqual([]);
  });
});

describe('the built client, on the built service and real containers', () => {
  const GOOD = 'def compute(data):\n    return data["x"]\n';
  const SLOW = 'def compute(data):\n    n = 0\n    while True:\n        n += 1\n';
  let built: BuiltService;
  let module: typeof ClientModule;
  let client: ClientModule.Client;

  beforeAll(async () => {
    module = (await import(join(BUILT, 'client.js'))) as typeof ClientModule;
    built = await startBuiltService({
      tenant: { max_concurrency: 1 },
      answer: ({ user }) => (user.includes('reach out') ? `import socket\n\n${GOOD}` : GOOD),
    });
    await built.ready();
    client = module.createClient({ baseUrl: built.service.api, apiKey: built.key });
  });
  afterAll(async () => {
    await built?.stop();
  });

  const sources = (text: string) => [{ name: 'x', result_json: text }];
  const faults = (schema: Parameters<typeof faultChecker>[0], document: object) =>
    faultChecker(schema)(document);
  const computation = ({ resultText: _, ...rest }: ClientModule.ComputationAnswer) =>
    faults(ComputationSchema, rest);

  it('gets what every operation answers, in the shape that its type says', async () => {
    expect(faults(HealthSchema, await client.health())).toEqual([]);
    const ready = await client.ready();
    expect([ready.status, faults(ReadinessSchema, ready)]).toEqual(['ready', []]);
    expect(faults(CapabilitiesSchema, await client.capabilities())).toEqual([]);
    expect(faults(PromptPackSchema, await client.promptPack())).toEqual([]);
    const usage = await client.usage();
    expect(faults(UsageSchema, usage)).toEqual([]);
    expect((await client.usageOfMonth(usage.month)).tenant).toBe('acme');
    const step = { step: 'give it back', sources: sources('[1.50]') };
    expect(faults(PromptAnswerSchema, await client.prompt(step))).toEqual([]);
    const draft = await client.draft(step);
    expect([draft.state, faults(DraftSchema, draft)]).toEqual(['admitted', []]);
    expect(faults(AdmitAnswerSchema, await client.admit({ code: draft.code }))).toEqual([]);
    const run = { code: draft.code, sources: step.sources, expect_code_sha256: draft.code_sha256 };
    const answer = await client.run(run);
    expect([answer.state, answer.function.source, computation(answer)]).toEqual(['succeeded', 'caller', []]);
  });

  it.each(['9007199254740993', String(2n ** 200n), '-0.10', '1e-07', '{"result":"]}\\\\\\""}', 'null'])(
    'brings %s back with its digits',
    async (text) => {
      const answer = await client.compute({ step: 'give it back', sources: sources(text) });
      expect(answer.state).toBe('succeeded');
      expect(answer.resultText).toBe(text === '-0.10' ? '-0.1' : text);
      expect(answer.result).toEqual(JSON.parse(text));
    },
  );

  it('tells of the phases of a step, and brings the same answer with its digits', async () => {
    const phases: string[] = [];
    const answer = await client.compute(
      { step: 'give it back', sources: sources('9007199254740993') },
      { onProgress: ({ phase }) => phases.push(phase) },
    );
    expect(phases).toEqual(['prompt', 'model', 'admission', 'queue', 'running']);
    expect([answer.resultText, computation(answer)]).toEqual(['9007199254740993', []]);
    await expect(
      client.compute({ step: 'x', sources: [] }, { onProgress: ({ phase }) => phases.push(phase) }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
    expect(phases).toHaveLength(5);
  });

  it('gets a Computation for a refused function and for one that failed, and every refusal when asked', async () => {
    const refused = await client.compute({
      step: 'reach out',
      sources: sources('1'),
      repair: { max_attempts: 1 },
    });
    expect(refused).toMatchObject({ state: 'not_admitted', resultText: null });
    expect(refused.admission).toMatchObject({ admitted: false, rule_id: 'import', line: 1 });
    const failed = await client.run({
      code: 'def compute(data):\n    return 1 / 0\n',
      sources: sources('1'),
    });
    expect(failed.failure).toMatchObject({ code: 'exception', exception: 'ZeroDivisionError', line: 2 });
    const code = `import socket\nimport os\n\n${GOOD}`;
    const { refusals } = await client.admit({ code }, { all: true });
    expect(refusals?.map(({ line }) => line)).toEqual([1, 2]);
  });

  it('throws a problem by its code', async () => {
    const wrong = module.createClient({ baseUrl: built.service.api, apiKey: 'cs_wrong' });
    await expect(wrong.usage()).rejects.toMatchObject({
      code: 'unauthorized',
      status: 401,
      retryable: false,
    });
    await expect(
      client.run({ code: GOOD, sources: sources('1'), expect_code_sha256: '0'.repeat(64) }),
    ).rejects.toMatchObject({ code: 'code_mismatch', status: 409 });
    await expect(client.compute({ step: 'x', sources: [] })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('sources'),
    });
    await expect(client.usageOfMonth('2026-13')).rejects.toBeInstanceOf(module.ComputeStepProblem);
  });

  it('never runs twice what it sends twice with one key', async () => {
    const before = (await client.usage()).compute_runs.used;
    const replayed: (string | null)[] = [];
    const send = () =>
      client.compute(
        { step: 'give it back', sources: sources('7') },
        {
          idempotencyKey: 'plan 1, step 1',
          onAnswer: ({ headers }) => replayed.push(headers.get('idempotency-replayed')),
        },
      );
    const [first, second] = [await send(), await send()];
    expect(second.id).toBe(first.id);
    expect(replayed).toEqual([null, 'true']);
    expect((await client.usage()).compute_runs.used).toBe(before + 1);
  });

  it('waits for its turn where the tenant’s requests are at their cap', async () => {
    const leaving = new AbortController();
    const slow = client.run({ code: SLOW, sources: sources('1') }, { signal: leaving.signal });
    const ended = expect(slow).rejects.toMatchObject({ name: 'AbortError' });
    await running();
    const told: string[] = [];
    const answer = await module.withRetries(
      (attempt) => client.run({ code: GOOD, sources: sources('1') }, attempt),
      {
        deadlineMs: 60_000,
        maxAttempts: 50,
        onRetry: (error) => {
          told.push(error.message);
          leaving.abort();
        },
      },
    );
    expect(answer.state).toBe('succeeded');
    expect(told[0]).toMatch(/^too_many_requests: /);
    await ended;
  });

  it('hangs up when told to: the run is dropped if it had not begun, else killed', async () => {
    await idle();
    const before = (await client.usage()).outcomes;
    const leaving = new AbortController();
    const call = client.run({ code: SLOW, sources: sources('1') }, { signal: leaving.signal });
    const ended = expect(call).rejects.toMatchObject({ name: 'AbortError' });
    await running();
    leaving.abort();
    await ended;
    await idle();
    const { cancelled = 0, ...others } = (await client.usage()).outcomes;
    const { cancelled: cancelledBefore = 0, ...othersBefore } = before;
    // Left alone it would have come to its limit, and counted as `timeout`.
    expect(others).toEqual(othersBefore);
    expect([cancelledBefore, cancelledBefore + 1]).toContain(cancelled);
  });

  async function idle(): Promise<void> {
    while ((await client.usage()).open_permits > 0) await new Promise((done) => setTimeout(done, 50));
  }

  /** Until a run holds a permit. */
  async function running(): Promise<void> {
    while ((await client.usage()).open_permits === 0) await new Promise((done) => setTimeout(done, 50));
  }
});
