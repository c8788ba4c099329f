import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKey } from '../../src/tenants.ts';
import { createCanaries } from '../fakes/canaries.ts';
import { engineTraces, filesChangedSince, followEngineEvents } from '../fakes/engine-traces.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../fakes/otlp-receiver.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';
import { modelAnswer, type ScriptedAnswer, type ScriptedRequest } from '../fakes/scripted-model.ts';

/** No other service on this engine has this limit: it tells the containers of this one. */
const MEMORY_MB = 131;
const BODY_MAX_BYTES = 512 * 1024;
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What no sink may hold, whatever happens; of an answer only the result and a detail that was asked for. */
const values = createCanaries();
/** What a caller or a model says in its own words: the webhook and the caller see it, nothing that is kept does. */
const told = createCanaries();
/** What a model says instead of a function. It may hear its own words again, nobody else hears them. */
const said = createCanaries();

const data = values.dataset();
const [first] = JSON.parse(data) as { name: string }[];
const NAME = first?.name ?? '';

/** A function over the first record of the data; `name` is its canary. */
const compute = (...lines: string[]) =>
  `# ${told.text()}\ndef compute(data):\n    first = data["records"][0]\n    name = first["name"]\n${lines
    .map((line) => `    ${line}\n`)
    .join('')}`;
const spin = compute('while name:', '    pass');

interface Path {
  readonly code?: string;
  /** Instead of a function. */
  readonly reply?: (request: ScriptedRequest) => ScriptedAnswer;
  readonly more?: Readonly<Record<string, unknown>>;
  /** Code of the failure or of the problem; `succeeded`. */
  readonly ends: string;
}

const pattern = '^(a+)+$';
const PATHS: Readonly<Record<string, Path>> = {
  'a result of values': {
    code: compute('return [name, first["by_person"], first["id"]]'),
    ends: 'succeeded',
  },
  'a function that is not admitted': {
    code: `import socket\n${compute('return name')}`,
    ends: 'code_not_admitted',
  },
  'ValueError(value)': { code: compute('raise ValueError(name)'), ends: 'exception' },
  'KeyError(value)': { code: compute('return {}[name]'), ends: 'exception' },
  'KeyError(map key)': { code: compute('raise KeyError(list(first["by_person"]))'), ends: 'exception' },
  'int(value)': { code: compute('return int(name)'), ends: 'exception' },
  'an exception of the function’s own, with a cause': {
    code: `class Own(Exception):\n    pass\n\n${compute('try:', '    raise KeyError(name)', 'except KeyError as why:', '    raise Own(name) from why')}`,
    ends: 'exception',
  },
  'an assertion': { code: compute('assert name == "", name'), ends: 'exception' },
  timeout: { code: spin, more: { limits: { wall_seconds: 1 } }, ends: 'timeout' },
  'out of memory': { code: compute('return len(name * 40_000_000)'), ends: 'out_of_memory' },
  'output too large': { code: compute('return name * 10_000'), ends: 'output_too_large' },
  'a set below a value as key': { code: compute('return {name: [1, {name}]}'), ends: 'result_not_json' },
  'NaN below a map key': {
    code: compute('return {key: float("nan") for key in first["by_person"]}'),
    ends: 'result_not_json',
  },
  'a value as a key that is no string': { code: compute('return {(name, 1): 1}'), ends: 'result_not_json' },
  'a lone surrogate beside a value': { code: compute('return name + chr(0xD800)'), ends: 'result_not_json' },
  'another type': {
    code: compute('return name'),
    more: { result_type: 'number' },
    ends: 'result_type_mismatch',
  },
  'another type by schema, below a value as key': {
    code: compute('return {name: {name: name}}'),
    more: { result_schema: { additionalProperties: { additionalProperties: { type: 'number' } } } },
    ends: 'result_type_mismatch',
  },
  'another type by schema, at a value as index': {
    code: compute('return [0] * 7391 + [name]'),
    more: { result_schema: { items: { type: 'integer' } } },
    ends: 'result_type_mismatch',
  },
  'a key that the schema refuses': {
    code: compute('return first["by_person"]'),
    more: { result_schema: { additionalProperties: false, description: told.text() } },
    ends: 'result_type_mismatch',
  },
  'a table of the wrong form': {
    code: compute('return {"columns": [name], "rows": [[name]]}'),
    more: { result_type: 'table' },
    ends: 'result_type_mismatch',
  },
  'a schema that takes too long': {
    code: compute('return "a" * 40 + name'),
    more: { result_schema: { pattern } },
    ends: 'result_schema_timeout',
  },
  'a crash': {
    code: compute(
      'walk = iter([name])',
      'for _ in range(400_000):',
      '    walk = map(str, walk)',
      'return list(walk)',
    ),
    ends: 'sandbox_crashed',
  },
  'a deadline while the function runs': {
    code: spin,
    more: { timeout_seconds: 3 },
    ends: 'deadline_exceeded',
  },
  'a deadline while the model is asked': {
    reply: () => ({ hang: true }),
    more: { timeout_seconds: 1 },
    ends: 'deadline_exceeded',
  },
  'a model that is silent': { reply: () => ({ hang: true }), ends: 'model_timeout' },
  'a model that answers 500 with the prompt': {
    reply: ({ body, rawHeaders }) => ({
      status: 500,
      headers: { 'retry-after': said.text(), 'x-error': said.text(), 'content-type': said.text() },
      body: `${said.text()} ${rawHeaders.join(' ')} ${body.toString('utf8')}`,
    }),
    ends: 'model_failed',
  },
  'a model that redirects': {
    reply: () => ({ status: 302, headers: { location: `https://${said.text()}.example/` } }),
    ends: 'model_failed',
  },
  'a model that answers no function': { reply: () => `I cannot. ${said.text()}`, ends: 'model_failed' },
  'a model that answers no JSON': { reply: () => ({ body: said.text() }), ends: 'model_failed' },
  'a model that answers another shape': {
    reply: () => ({ body: JSON.stringify({ error: said.text() }) }),
    ends: 'model_failed',
  },
  'a model that closes the connection': { reply: () => ({ reset: true }), ends: 'model_failed' },
  'a function that cannot be parsed': {
    reply: (request) => ({ body: modelAnswer(request.format, 'def compute(data):\n    return (1\n') }),
    ends: 'code_not_admitted',
  },
};
const NAMES = Object.keys(PATHS);
const instructionOf = (name: string) => `path ${NAMES.indexOf(name)} of ${told.text()}`;

/** A body of `POST /v1/compute`; `records` is put in as text, so that its digits stay. */
function bodyOf(instruction: string, more: object = {}, records = data): string {
  const rest = JSON.stringify({
    step: { instruction, id: values.text(), depends_on: [values.text()] },
    ...more,
  }).slice(1);
  const second = JSON.stringify({ tool: told.text(), name: 'again', result_json: records });
  return `{"sources":[{"name":"records","result":${records}},${second}],${rest}`;
}

const started = Date.now();
let built: BuiltService;
let receiver: OtlpReceiver;
let folder: string;
let keys: Record<'plain' | 'spent' | 'detail' | 'url', string>;
let authorized: RequestInit;
let events: ReturnType<typeof followEngineEvents>;
const stderr: string[] = [];
/** What the engine and the host showed while a function held the data. */
const during: Record<string, Buffer> = {};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'compute-step-sweep-'));
  const made = {
    plain: createKey('plain', 10_000, null),
    spent: createKey('spent', 0, null),
    detail: createKey('detail', 10_000, null),
    url: createKey('url', 10_000, null),
  };
  keys = { plain: made.plain.key, spent: made.spent.key, detail: made.detail.key, url: made.url.key };
  const entries = [
    made.plain.entry,
    made.spent.entry,
    { ...made.detail.entry, allow_detail: true },
    { ...made.url.entry, allow_model_url: true },
  ];
  writeFileSync(join(folder, 'tenants.json'), JSON.stringify({ tenants: entries }));
  const scratch = mkdtempSync(join(folder, 'tmp-'));
  events = followEngineEvents();
  receiver = await startOtlpReceiver();
  built = await startBuiltService({
    env: {
      TENANTS_FILE: join(folder, 'tenants.json'),
      TMPDIR: scratch,
      SANDBOX_MEMORY_MB: String(MEMORY_MB),
      SANDBOX_POOL_SIZE: '2',
      SANDBOX_WALL_SECONDS: '8',
      RESULT_MAX_BYTES: '65536',
      BODY_MAX_BYTES: String(BODY_MAX_BYTES),
      MODEL_TIMEOUT_SECONDS: '3',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
    },
    answer: (request) => {
      const index = Number(/path (\d+) of/.exec(request.user)?.[1] ?? -1);
      const path = PATHS[NAMES[index] ?? ''];
      return path?.reply?.(request) ?? path?.code ?? spin;
    },
  });
  built.service.process.stderr?.on('data', (chunk: string | Buffer) => stderr.push(String(chunk)));
  authorized = { headers: { authorization: `Bearer ${keys.plain}` } };
  await built.ready();
});
afterAll(async () => {
  await receiver?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  /** Head and body as text. */
  readonly all: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  readonly json: any;
}

async function post(
  body: string | Buffer,
  init: RequestInit & { readonly path?: string } = {},
): Promise<Answer> {
  const { path = '/v1/compute', ...rest } = init;
  const response = await fetch(`${built.service.api}${path}`, {
    method: 'POST',
    body,
    ...rest,
    headers: {
      authorization: `Bearer ${keys.plain}`,
      'content-type': 'application/json',
      ...(rest.headers as Record<string, string> | undefined),
    },
  });
  const text = await response.text();
  return {
    status: response.status,
    all: `${[...response.headers].flat().join('\n')}\n\n${text}`,
    json: text.startsWith('{') ? JSON.parse(text) : null,
  };
}

const endOf = ({ json }: Answer): string => json.failure?.code ?? json.state ?? json.code;

describe('an answer holds nothing of the data but the result', () => {
  it.each(NAMES)('%s', async (name) => {
    const path = PATHS[name] as Path;
    const answer = await post(bodyOf(instructionOf(name), path.more));
    expect(endOf(answer)).toBe(path.ends);
    if (path.ends === 'succeeded') {
      // The caller gets the values, digit by digit; the rest of the answer is clean.
      const { result, ...rest } = answer.json;
      expect(result[0]).toBe(NAME);
      expect(values.find(JSON.stringify(result)).map(({ kind }) => kind)).toContain('number');
      expect(values.find(JSON.stringify(rest))).toEqual([]);
    } else {
      expect(values.find(answer.all)).toEqual([]);
    }
    expect(said.find(answer.all)).toEqual([]);
  });

  it('a quota that is spent', async () => {
    const before = built.model.requests.length;
    const answer = await post(bodyOf('spent'), { headers: { authorization: `Bearer ${keys.spent}` } });
    expect(endOf(answer)).toBe('quota_exceeded');
    expect(values.find(answer.all)).toEqual([]);
    expect(built.model.requests).toHaveLength(before);
  });

  it('a repeated Idempotency-Key, with the same body, at the same time, and with another body', async () => {
    const headers = { 'idempotency-key': told.text() };
    const body = bodyOf(instructionOf('KeyError(value)'));
    const both = await Promise.all([post(body, { headers }), post(body, { headers })]);
    const replayed = await post(body, { headers });
    const reused = await post(bodyOf('another'), { headers });
    expect(both.map(endOf).sort()).toEqual(['exception', 'idempotency_in_flight']);
    expect(replayed.all).toContain('idempotency-replayed');
    expect(endOf(reused)).toBe('idempotency_key_reused');
    for (const answer of [...both, replayed, reused]) expect(values.find(answer.all)).toEqual([]);
  });

  it('a body that is too large', async () => {
    const large = values.dataset(BODY_MAX_BYTES / 2_000);
    const answer = await post(bodyOf('large', {}, large));
    expect(endOf(answer)).toBe('body_too_large');
    expect(values.find(answer.all)).toEqual([]);
  });

  it.each(['/v1/compute/prompt', '/v1/compute/draft'])('%s, which runs nothing', async (path) => {
    const body = bodyOf(instructionOf('a result of values'));
    const answer = await post(body, { path });
    expect(answer.status).toBe(200);
    expect(answer.json.prompt?.text ?? answer.json.text ?? answer.all).toContain('by_person');
    expect(values.find(answer.all)).toEqual([]);
  });

  it('a caller’s own model with its own key, which refuses it', async () => {
    const model = { url: built.model.url, headers: { authorization: `Bearer ${values.secret()}` } };
    const answer = await post(bodyOf('own model', { model }), {
      headers: { authorization: `Bearer ${keys.url}` },
    });
    // The scripted webhook wants a signature, which a caller's own model does not get.
    expect(answer.json).toMatchObject({ code: 'model_failed', webhook_status: 401 });
    expect(values.find(answer.all)).toEqual([]);
    expect(values.find(built.model.requests.at(-1)?.rawHeaders.join('\n') ?? '', ['secret'])).toHaveLength(1);
  });
});

describe('a request that is refused is told nothing of what stands beside the fault', () => {
  const beside = (fault: string) =>
    bodyOf('x', {}, `[${JSON.stringify(values.text())},${fault},${values.integer()}]`);
  const top = (more: object) => bodyOf('x', more);
  const inSource = (more: object) =>
    JSON.stringify({ step: 'x', sources: [{ result: values.text(), ...more }] });
  const inModel = (more: object) => top({ model: { url: 'https://models.example.com/', ...more } });

  it.each<[string, string | Buffer, (RequestInit & { readonly path?: string })?]>([
    ['a number past the range', beside('1e400')],
    ['a number with a leading zero', beside(`0${values.integer()}`)],
    ['a number that is cut', beside(`${values.integer()}.`)],
    ['NaN', beside('NaN')],
    ['a word that is none', beside(values.text())],
    ['a repeated key', beside(`{${JSON.stringify(NAME)}:1,${JSON.stringify(NAME)}:2}`)],
    [
      'a repeated odd key',
      beside(
        (() => {
          const key = JSON.stringify(values.oddText());
          return `{${key}:1,${key}:2}`;
        })(),
      ),
    ],
    ['a control character in a value', beside(`"${values.text()}\u0001"`)],
    ['an escape that is none', beside(`"${values.text()}\\x41"`)],
    ['too deep', beside(`${'['.repeat(70)}${values.integer()}${']'.repeat(70)}`)],
    [
      'bad UTF-8',
      Buffer.concat([
        Buffer.from(`{"step":"x","sources":[{"result":"${values.text()}`),
        Buffer.from([0xff]),
        Buffer.from(`${values.text()}"}]}`),
      ]),
    ],
    [
      'a lone surrogate in a text',
      JSON.stringify({ step: 'x', sources: [{ result_json: `"${values.text()}` }] }).replace(
        '"}]',
        '\\ud800\\""}]',
      ),
    ],
    [
      'a result_json that is cut',
      JSON.stringify({ step: 'x', sources: [{ result_json: `{"${values.text()}` }] }),
    ],
    ['a body that is cut', bodyOf('x').slice(0, -20)],
    ['something after the body', `${bodyOf('x')}${JSON.stringify(values.text())}`],
    ['a value instead of a document', JSON.stringify(values.text())],
    ['an unknown member', top({ [values.text()]: 1 })],
    ['an unknown odd member', top({ [values.oddText()]: values.text() })],
    ['an unknown e-mail address', top({ [values.key('email')]: 1 })],
    ['an unknown number', top({ [values.integer()]: 1 })],
    ['an unknown member of a source', inSource({ [values.text()]: 1 })],
    ['an unknown member of a model', inModel({ [values.text()]: 1 })],
    ['an unknown member of limits', top({ limits: { [values.text()]: 1 } })],
    ['a value as limit', top({ limits: { wall_seconds: values.text() } })],
    ['a value as deadline', top({ timeout_seconds: Number(values.integer()) })],
    ['a value as result type', top({ result_type: values.text() })],
    ['a value as key policy', inSource({ keys: values.text() })],
    ['a value as name', inSource({ name: values.oddText() })],
    ['a value as an extra', top({ include: [values.text()] })],
    ['a value as schema', inSource({ schema: values.text() })],
    ['a value instead of sources', JSON.stringify({ step: 'x', sources: values.text() })],
    ['a value as source', JSON.stringify({ step: 'x', sources: [values.text()] })],
    ['a map instead of sources', JSON.stringify({ step: 'x', sources: { [values.text()]: values.text() } })],
    ['a value as step', JSON.stringify({ step: [values.text()], sources: [{ result: 1 }] })],
    ['both result and result_json', inSource({ result_json: JSON.stringify(values.text()) })],
    ['a value as type of a result_schema', top({ result_schema: { type: values.text() } })],
    [
      'a value as keyword of a result_schema',
      top({ result_schema: { properties: { [values.text()]: { type: values.text() } } } }),
    ],
    ['a result_schema with a faulty pattern', top({ result_schema: { pattern: `(${values.text()}` } })],
    [
      'a result_schema with a remote reference',
      top({ result_schema: { $ref: `https://${values.text()}.example/` } }),
    ],
    [
      'a result_schema with a reference to nothing',
      top({ result_schema: { $ref: `#/$defs/${values.text()}` } }),
    ],
    ['a model’s URL that is none', top({ model: { url: values.text() } })],
    [
      'a model’s URL with a password',
      top({ model: { url: `https://a:${values.text()}@models.example.com/` } }),
    ],
    ['a model’s format', inModel({ format: values.text() })],
    ['a header that is reserved', inModel({ headers: { host: values.text() } })],
    ['a header with a line end', inModel({ headers: { 'x-a': `${values.text()}\r\nx: y` } })],
    ['a header whose name is none', inModel({ headers: { [values.oddText()]: 'x' } })],
    ['a header that is no text', inModel({ headers: { 'x-a': { [values.text()]: 1 } } })],
    [
      'an idempotency key that is too long',
      bodyOf('x'),
      { headers: { 'idempotency-key': values.text().repeat(20) } },
    ],
    ['another media type', bodyOf('x'), { headers: { 'content-type': `text/${values.text()}` } }],
    ['a form that is not given', bodyOf('x'), { headers: { accept: `text/${values.text()}` } }],
    ['a key that is unknown', bodyOf('x'), { headers: { authorization: `Bearer ${values.secret()}` } }],
    ['a path that is none', bodyOf('x'), { path: `/v1/compute/${values.text()}` }],
    ['a method that is none', '', { method: 'PUT', path: `/v1/compute?x=${values.text()}` }],
    [
      'a function with another digest',
      JSON.stringify({
        code: compute('return name'),
        sources: [{ name: 'records', result: [values.text()] }],
        expect_code_sha256: 'f'.repeat(64),
      }),
      { path: '/v1/compute/run' },
    ],
    [
      'a digest that is none',
      JSON.stringify({ code: 'x', sources: [{ result: 1 }], expect_code_sha256: values.text() }),
      { path: '/v1/compute/run' },
    ],
  ])('%s', async (_, body, init) => {
    const key = String(body).includes('"model"') ? keys.url : keys.plain;
    const answer = await post(body, {
      ...init,
      headers: { authorization: `Bearer ${key}`, ...init?.headers },
    });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(answer.json.code).toMatch(/^[a-z_]+$/);
    expect(values.find(answer.all)).toEqual([]);
  });

  it('bytes that are no request', async () => {
    const { port, hostname } = new URL(built.service.api);
    const answer = await new Promise<string>((done, failed) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(`${values.text()} /${values.text()} X\r\n\r\n`),
      );
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      socket.once('close', () => done(text)).once('error', failed);
    });
    expect(answer).toContain('invalid_request');
    expect(values.find(answer)).toEqual([]);
  });
});

describe('a run that holds the data', () => {
  it('shows none of it to the engine, the host’s disk or the process table', async () => {
    let ended = false;
    const run = post(bodyOf('spin', { limits: { wall_seconds: 6 } })).finally(() => {
      ended = true;
    });
    await until(async () => /^compute_step_running 1$/m.test(await built.metrics()));
    const { containers, hostReadable, sinks } = engineTraces(MEMORY_MB);
    const stillRuns = !ended && /^compute_step_running 1$/m.test(await built.metrics());
    Object.assign(during, sinks);
    expect(stillRuns).toBe(true);
    expect(containers).toBeGreaterThan(0);
    expect(sinks.inspect.toString('utf8')).toContain('compute-step.instance');
    // On an engine of another host, or for a user who may not look, its answers are all there is.
    if (hostReadable) {
      expect(sinks.process.toString('utf8')).toContain('harness');
      expect(sinks.process.toString('utf8')).toContain('PYTHONHASHSEED');
      expect(sinks.disk.toString('latin1')).toContain('no-new-privileges');
    }
    const answer = await run;
    expect(endOf(answer)).toBe('timeout');
    expect(values.find(answer.all)).toEqual([]);
  });

  it('is killed and counted when its caller hangs up', async () => {
    const gone = new AbortController();
    const run = post(bodyOf('hang up'), { signal: gone.signal }).catch(() => 'gone');
    await until(async () => /^compute_step_running 1$/m.test(await built.metrics()));
    gone.abort();
    expect(await run).toBe('gone');
    await until(async () => {
      const usage = await fetch(`${built.service.api}/v1/usage`, authorized);
      return ((await usage.json()) as { outcomes: Record<string, number> }).outcomes.cancelled === 1;
    });
  });
});

describe('what is let out on purpose', () => {
  it('detail: the exception’s text is in the answer of the tenant that may ask for it', async () => {
    const answer = await post(bodyOf(instructionOf('ValueError(value)'), { include: ['detail'] }), {
      headers: { authorization: `Bearer ${keys.detail}` },
    });
    const { detail, ...rest } = answer.json;
    expect(detail.exception_text).toContain(NAME);
    expect(values.find(JSON.stringify(detail))).not.toEqual([]);
    expect(values.find(JSON.stringify(rest))).toEqual([]);
  });

  it('keys that the caller says are fields are in the prompt, and the search finds them there', async () => {
    const leaky = createCanaries();
    const body = JSON.stringify({
      step: 'x',
      sources: [{ name: 'records', result: [{ name: 'x', [leaky.text()]: 1 }], keys: 'fields' }],
      limits: { wall_seconds: 1 },
    });
    const answer = await post(body);
    expect(leaky.find(answer.json.prompt.text)).not.toEqual([]);
    expect(leaky.find(built.model.requests.at(-1)?.body ?? '')).not.toEqual([]);
    expect(leaky.find(built.log.join('\n'))).toEqual([]);
    expect(leaky.find(built.ledgerBytes())).toEqual([]);
  });
});

describe('after all of it', () => {
  it('no sink holds a canary, and each would be found there', async () => {
    const metrics = await built.metrics();
    const ledger = built.ledgerBytes();
    const usage = await (await fetch(`${built.service.api}/v1/usage`, authorized)).text();
    const exitCode = await built.stop();
    const sinks: Record<string, Buffer> = {
      webhook: Buffer.concat(
        built.model.requests.map(({ path, rawHeaders, body }) =>
          Buffer.concat([Buffer.from(`${path} ${rawHeaders.join(' ')} `), body]),
        ),
      ),
      log: Buffer.from(built.log.join('\n')),
      stderr: Buffer.from(stderr.join('')),
      metrics: Buffer.from(metrics),
      traces: Buffer.concat(
        receiver.exports.map(({ headers, body }) =>
          Buffer.concat([Buffer.from(JSON.stringify(headers)), body]),
        ),
      ),
      ledger,
      events: Buffer.from(await events.stop()),
      usage: Buffer.from(usage),
      ...during,
    };
    expect(exitCode).toBe(0);
    const known: Record<string, string> = {
      webhook: 'path 0 of',
      log: '"level":10',
      metrics: 'compute_runs_total',
      traces: 'result_not_json',
      ledger: 'result_not_json',
      usage: 'result_not_json',
      events: 'compute-step.instance',
    };
    for (const [sink, text] of Object.entries(known)) expect(sinks[sink]?.includes(text), sink).toBe(true);
    const found: Record<string, unknown> = {};
    for (const [sink, bytes] of Object.entries(sinks)) {
      const ofValues = values.find(bytes, sink === 'webhook' ? ['text', 'number', 'uuid'] : undefined);
      // Instructions, functions, schemas and tools' names go to the webhook and are kept nowhere.
      const ofWords = sink === 'webhook' ? [] : [told, said].flatMap((words) => words.find(bytes));
      const ofKeys = Object.entries(keys).filter(([, key]) => bytes.includes(key));
      if (ofValues.length + ofWords.length + ofKeys.length > 0) found[sink] = { ofValues, ofWords, ofKeys };
      const seeded = Buffer.concat([bytes, Buffer.from(JSON.stringify({ msg: values.text() })), bytes]);
      expect(values.find(seeded), sink).not.toEqual([]);
    }
    expect(found).toEqual({});
    expect(told.find(sinks.webhook ?? '')).not.toEqual([]);
  });

  it('no file was left that holds one: no dump, no report, no temporary file', () => {
    const [scratch] = readdirSync(folder).filter((name) => name.startsWith('tmp-'));
    expect(readdirSync(join(folder, scratch ?? ''))).toEqual([]);
    writeFileSync(join(folder, 'seeded.txt'), values.text());
    const files = filesChangedSince(started, [
      ROOT,
      tmpdir(),
      '/var/crash',
      '/var/lib/systemd/coredump',
      folder,
    ]);
    const holding = [...files].filter(([, bytes]) => values.find(bytes).length > 0).map(([path]) => path);
    expect(holding).toEqual([join(folder, 'seeded.txt')]);
  });
});

async function until(reached: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; !(await reached()); attempt += 1) {
    if (attempt === 200) throw new Error('it did not come to that');
    await new Promise((done) => setTimeout(done, 50));
  }
}
