import { getEventListeners } from 'node:events';
import { Socket } from 'node:net';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { createWebhookModel } from '../../../src/model/webhook.ts';
import {
  answersInTurn,
  type ScriptedAnswer,
  type ScriptedModel,
  type ScriptedModelOptions,
  startScriptedModel,
} from '../../fakes/scripted-model.ts';
import { asking, clockAt, context, FUNCTION, prompt, target } from './asking.ts';
import { refusedImport } from './repairs.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const open: ScriptedModel[] = [];

async function scripted(
  answer: ScriptedModelOptions['answer'] | ScriptedAnswer,
  more: Partial<ScriptedModelOptions> = {},
): Promise<ScriptedModel> {
  const server = await startScriptedModel({
    answer: typeof answer === 'function' ? answer : () => answer,
    ...more,
  });
  open.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

describe('a request', () => {
  test('carries the prompt, its ids and nothing else', async () => {
    const server = await scripted(FUNCTION);
    const { source, outcomes } = await asking(target(server.url));
    expect(source).toBe(FUNCTION);
    expect(outcomes).toEqual(['ok']);
    expect(server.requests[0]?.json).toEqual({
      id: '0197-step',
      prompt: 'system part\n\nuser part',
      system: 'system part',
      user: 'user part',
      schema: { type: 'object' },
      result_type: 'number',
      prompt_pack_digest: 'sha256:00',
      attempt: 1,
    });
    expect(Object.keys(server.requests[0]?.headers ?? {}).sort()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
      'webhook-id',
    ]);
    expect(server.requests[0]?.headers).toMatchObject({
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'webhook-id': '0197-step',
      connection: 'close',
    });
  });

  test('takes path and query of the URL, the caller’s headers and the traceparent, no baggage', async () => {
    const server = await scripted(FUNCTION);
    const to = target(`${server.url}/v2?tenant=a`, { headers: { authorization: 'Bearer k', 'x-team': 'b' } });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await asking(to, { context: { ...context, traceparent } });
    expect(server.requests[0]?.path).toBe('/write/v2?tenant=a');
    expect(server.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer k',
      'x-team': 'b',
      traceparent,
    });
    expect(server.requests[0]?.headers).not.toHaveProperty('baggage');
  });

  test('is signed where the target has a secret, and the library verifies it', async () => {
    const server = await scripted(FUNCTION, { signingSecret: SECRET });
    const { source } = await asking(target(server.url, { signingSecret: SECRET }));
    expect(source).toBe(FUNCTION);
    expect(server.requests[0]?.signature).toBe('valid');
  });

  test('without a secret is not signed, and a wrong secret does not verify', async () => {
    const server = await scripted(FUNCTION, { signingSecret: SECRET });
    const other = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;
    await asking(target(server.url));
    const { problem } = await asking(target(server.url, { signingSecret: other }));
    expect(server.requests.map(({ signature }) => signature)).toEqual(['absent', 'invalid']);
    expect(problem).toMatchObject({ code: 'model_failed', extra: { webhook_status: 401 } });
  });

  test('for a repaired function has an id of its own, as it is another message', async () => {
    const server = await scripted(FUNCTION);
    await asking(target(server.url), { context: { ...context, repairs: [refusedImport()] } });
    expect(server.requests[0]?.headers['webhook-id']).toBe('0197-step-2');
    expect(server.requests[0]?.json).toMatchObject({ id: '0197-step', attempt: 2 });
  });
});

describe('an answer', () => {
  test('may be text/plain', async () => {
    const server = await scripted({
      body: `\`\`\`python\n${FUNCTION}\`\`\``,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    });
    expect((await asking(target(server.url))).source).toBe(FUNCTION);
  });

  test.each<[string, ScriptedAnswer, object]>([
    ['a 404', { status: 404, body: 'canary' }, { reason: 'http_status', webhook_status: 404 }],
    ['a 500', { status: 500, body: 'canary' }, { reason: 'http_status', webhook_status: 500 }],
    ['no JSON', { body: 'canary' }, { reason: 'answer_not_json' }],
    ['JSON without code', { body: '{"canary": 1}' }, { reason: 'answer_not_understood' }],
    ['code that is no text', { body: '{"code": ["canary"]}' }, { reason: 'answer_not_understood' }],
    [
      'a web page',
      { body: 'canary', headers: { 'content-type': 'text/html' } },
      { reason: 'answer_not_understood' },
    ],
    ['an empty function', { text: ' \n' }, { reason: 'empty_answer' }],
    ['prose', { text: 'I am sorry, canary.' }, { reason: 'no_function' }],
    ['bytes that are not UTF-8', { body: Buffer.from([0x7b, 0xff, 0x7d]) }, { reason: 'answer_not_utf8' }],
    ['a closed connection', { reset: true }, { reason: 'connection_lost' }],
  ])('that is %s fails by its reason and is not relayed', async (_name, answer, extra) => {
    const server = await scripted(answer);
    const { problem, outcomes } = await asking(target(server.url));
    expect(problem).toMatchObject({ code: 'model_failed', extra });
    expect(outcomes).toEqual(['failed']);
    expect(server.requests).toHaveLength(1);
    expect(inspect(problem, { depth: null })).not.toContain('canary');
  });

  test('that is a redirect is not followed', async () => {
    const metadata = await scripted(FUNCTION);
    for (const status of [301, 302, 303, 307, 308]) {
      const server = await scripted({ status, headers: { location: metadata.url } });
      const { problem } = await asking(target(server.url), {
        allowedHosts: [server.hostPort, metadata.hostPort],
      });
      expect(problem).toMatchObject({
        code: 'model_failed',
        extra: { reason: 'redirect', webhook_status: status },
      });
    }
    expect(metadata.requests).toHaveLength(0);
  });

  test('that is compressed is refused unread', async () => {
    const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024));
    const server = await scripted({ body: bomb, headers: { 'content-encoding': 'gzip' } });
    const { problem } = await asking(target(server.url));
    expect(problem?.extra).toEqual({ reason: 'content_encoding', webhook_status: 200 });
  });

  test('may say that it is not compressed', async () => {
    const server = await scripted({ text: FUNCTION, headers: { 'content-encoding': 'identity' } });
    expect((await asking(target(server.url))).source).toBe(FUNCTION);
  });

  test('without an end is cut off at the byte cap', async () => {
    let sent = 0;
    let closed = false;
    const server = await scripted({
      handle: (response) => {
        response.on('close', () => {
          closed = true;
        });
        const pump = () => {
          while (!closed && response.write(Buffer.alloc(64 * 1024, 97))) sent += 64 * 1024;
          if (!closed) response.once('drain', pump);
        };
        pump();
      },
    });
    const { problem } = await asking(target(server.url));
    expect(problem?.extra).toMatchObject({ reason: 'answer_too_large' });
    await expect.poll(() => closed).toBe(true);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  test('of an error is not read: its connection is closed although it has no end', async () => {
    let closed = false;
    const server = await scripted({
      handle: (response) => {
        response.on('close', () => {
          closed = true;
        });
        response.writeHead(500).write('canary');
      },
    });
    const { problem } = await asking(target(server.url));
    expect(problem?.extra).toEqual({ reason: 'http_status', webhook_status: 500 });
    await expect.poll(() => closed).toBe(true);
  });

  test('that announces too much is not read, one that announces too little is not believed', async () => {
    const huge = await scripted({
      handle: (response) => {
        response.writeHead(200, { 'content-length': String(2 * 1024 * 1024 * 1024) });
        response.flushHeaders();
      },
    });
    expect((await asking(target(huge.url))).problem?.extra).toMatchObject({ reason: 'answer_too_large' });
    const raw = (head: string, body: string) =>
      scripted({
        handle: (response) => {
          const socket = response.socket ?? new Socket();
          socket.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${head}\r\n\r\n${body}`);
        },
      });
    const short = await raw('content-length: 9', JSON.stringify({ code: FUNCTION }));
    expect((await asking(target(short.url))).problem).toMatchObject({ code: 'model_failed' });
    const long = await raw('content-length: 5000', JSON.stringify({ code: FUNCTION }));
    expect((await asking(target(long.url))).problem?.extra).toMatchObject({ reason: 'connection_lost' });
    const giant = await raw(`x-filler: ${'a'.repeat(40_000)}`, '');
    expect((await asking(target(giant.url))).problem?.extra).toMatchObject({ reason: 'connection_lost' });
  });
});

describe('the deadline', () => {
  test('ends a webhook that never answers', async () => {
    const server = await scripted({ hang: true });
    const { problem, outcomes } = await asking(target(server.url), { timeoutMs: 200 });
    expect(problem).toMatchObject({ code: 'model_timeout', extra: { reason: 'timeout' } });
    expect(outcomes).toEqual(['timeout']);
  });

  test.each([
    ['headers', 'HTTP/1.1 200 OK\r\nx-drip: '],
    ['body', 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n'],
  ])('ends %s that drip byte by byte', async (_what, head) => {
    let drip: NodeJS.Timeout | undefined;
    let hungUp = false;
    const server = await scripted({
      handle: (response) => {
        const socket = response.socket ?? new Socket();
        socket.on('error', () => {});
        socket.on('close', () => {
          hungUp = true;
        });
        socket.write(head);
        drip = setInterval(() => socket.write('a'), 20);
      },
    });
    const { problem } = await asking(target(server.url), { timeoutMs: 300 });
    expect(problem?.code).toBe('model_timeout');
    await expect.poll(() => hungUp).toBe(true);
    clearInterval(drip);
  });

  test('covers resolving the name', { timeout: 5_000 }, async () => {
    const to = target('http://model.test:1234/');
    const { problem } = await asking(to, { timeoutMs: 200, resolve: () => new Promise(() => {}) });
    expect(problem?.code).toBe('model_timeout');
  });

  test('covers retries: what it would cut short is not waited for', async () => {
    const server = await scripted({ status: 429, headers: { 'retry-after': '30' } });
    const { problem, waits } = await asking(target(server.url));
    expect(waits).toEqual([]);
    expect(server.requests).toHaveLength(1);
    expect(problem).toMatchObject({
      code: 'model_failed',
      extra: { reason: 'http_status', webhook_status: 429 },
      retryAfterSeconds: 30,
    });
  });

  test('of the caller ends a request at once', async () => {
    const server = await scripted({ hang: true });
    const caller = new AbortController();
    const pending = asking(target(server.url), { signal: caller.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    caller.abort();
    const { problem, outcomes } = await pending;
    expect(problem).toMatchObject({ code: 'model_timeout', extra: { reason: 'cancelled' } });
    expect(outcomes).toEqual(['cancelled']);
    const late = await asking(target(server.url), { signal: AbortSignal.abort() });
    expect(late.problem?.extra).toEqual({ reason: 'cancelled' });
    expect(server.requests).toHaveLength(1);
  });

  test('leaves nothing on the caller’s signal', async () => {
    const server = await scripted(FUNCTION);
    const { signal } = new AbortController();
    await asking(target(server.url), { signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('of a closing service ends what is under way', async () => {
    const server = await scripted({ hang: true });
    const model = createWebhookModel({
      timeoutMs: 20_000,
      allowedHosts: [server.hostPort],
      clock: systemClock,
    });
    const pending = model.ask(prompt, target(server.url), context, new AbortController().signal);
    await expect.poll(() => server.requests.length).toBe(1);
    await model.close();
    expect(await pending).toMatchObject({ code: 'model_timeout', extra: { reason: 'cancelled' } });
  });
});

describe('a retry', () => {
  test('waits as long as the webhook asks and keeps the id, with a fresh signature', async () => {
    const server = await scripted(answersInTurn({ status: 429, headers: { 'retry-after': '3' } }, FUNCTION), {
      signingSecret: SECRET,
    });
    let now = Date.now();
    const later = () => {
      now += 1_000;
      return new Date(now);
    };
    const clock = { now: later, monotonicNs: () => 0n };
    const { source, waits } = await asking(target(server.url, { signingSecret: SECRET }), { clock });
    expect(source).toBe(FUNCTION);
    expect(waits).toEqual([3_250]);
    const [first, second] = server.requests.map(({ headers }) => headers);
    expect(second?.['webhook-id']).toBe(first?.['webhook-id']);
    expect(second?.['webhook-timestamp']).not.toBe(first?.['webhook-timestamp']);
    expect(second?.['webhook-signature']).not.toBe(first?.['webhook-signature']);
    expect(server.requests.map(({ signature }) => signature)).toEqual(['valid', 'valid']);
    expect(server.requests[1]?.body.equals(server.requests[0]?.body ?? Buffer.alloc(0))).toBe(true);
  });

  test('reads Retry-After as a date too', async () => {
    const server = await scripted(
      answersInTurn({ status: 503, headers: { 'retry-after': 'Mon, 30 Nov 2026 10:00:05 GMT' } }, FUNCTION),
    );
    const { waits } = await asking(target(server.url), { clock: clockAt('2026-11-30T10:00:00Z') });
    expect(waits).toEqual([5_250]);
  });

  test.each([429, 502, 503, 504])('happens twice at most for %d', async (status) => {
    const server = await scripted({ status });
    const { problem, waits } = await asking(target(server.url));
    expect(server.requests).toHaveLength(3);
    expect(waits).toEqual([250, 500]);
    expect(problem?.extra).toEqual({ reason: 'http_status', webhook_status: status });
  });

  test.each([400, 401, 403, 404, 408, 409, 500, 501, 505])('does not happen for %d', async (status) => {
    const server = await scripted({ status });
    await asking(target(server.url));
    expect(server.requests).toHaveLength(1);
  });

  test('does not happen once a request was sent and the connection broke', async () => {
    const server = await scripted({ reset: true });
    await asking(target(server.url));
    expect(server.requests).toHaveLength(1);
  });

  test('happens where no connection could be made', async () => {
    const gone = await scripted(FUNCTION);
    await gone.close();
    const { problem, waits } = await asking(target(gone.url));
    expect(waits).toHaveLength(2);
    expect(problem).toMatchObject({
      code: 'model_failed',
      extra: { reason: 'connect_failed' },
      cause: 'connect_failed ECONNREFUSED',
    });
  });
});

describe('where a request may go', () => {
  test('a name that resolves to a private address gets no connection', async () => {
    const server = await scripted(FUNCTION);
    const port = new URL(server.url).port;
    const { problem, outcomes } = await asking(target(`https://model.test:${port}/`), {
      allowedHosts: [],
      resolve: async () => ['127.0.0.1'],
    });
    expect(problem).toEqual({
      kind: 'problem',
      code: 'model_url_refused',
      detail: 'model.url: this address is not allowed; ask the operator.',
      cause: `not_public: model.test:${port}`,
    });
    expect(outcomes).toEqual(['refused_url']);
    expect(server.requests).toHaveLength(0);
  });

  test('one bad address among good ones refuses the name', async () => {
    const { problem, waits } = await asking(target('https://model.test/'), {
      allowedHosts: [],
      resolve: async () => ['8.8.8.8', '2606:4700:4700::1111', '169.254.169.254'],
    });
    expect(problem).toMatchObject({ code: 'model_url_refused', cause: 'cloud_metadata: model.test:443' });
    expect(waits).toEqual([]);
  });

  test('a name that changes between tries is judged each time', async () => {
    let asked = 0;
    const { problem, waits } = await asking(target('https://model.test/'), {
      allowedHosts: [],
      resolve: async () => {
        asked += 1;
        if (asked === 1) throw Object.assign(new Error(), { code: 'ENOTFOUND' });
        return ['10.0.0.1'];
      },
    });
    expect(asked).toBe(2);
    expect(waits).toHaveLength(1);
    expect(problem?.code).toBe('model_url_refused');
  });

  test('a listed name is connected to at the address that was judged', async () => {
    const server = await scripted(FUNCTION);
    let asked = 0;
    const port = new URL(server.url).port;
    const { source } = await asking(target(`http://model.test:${port}/`), {
      resolve: async () => {
        asked += 1;
        return asked === 1 ? ['127.0.0.1'] : ['127.9.9.9'];
      },
    });
    expect(source).toBe(FUNCTION);
    expect(asked).toBe(1);
    expect(server.requests[0]?.headers.host).toBe(`model.test:${port}`);
  });

  test('a listed name that resolves to a metadata address is refused all the same', async () => {
    const { problem } = await asking(target('http://model.test:80/'), {
      allowedHosts: ['model.test:80'],
      resolve: async () => ['169.254.169.254'],
    });
    expect(problem?.code).toBe('model_url_refused');
  });

  test.each([
    'https://127.0.0.1/',
    'https://[::ffff:127.0.0.1]/',
    'https://168.63.129.16/',
    'http://8.8.8.8/',
    'https://u:p@8.8.8.8/',
  ])('%s is refused before any connection, in the same words', async (url) => {
    const { problem } = await asking(target(url), { allowedHosts: [] });
    expect(problem).toMatchObject({
      code: 'model_url_refused',
      detail: 'model.url: this address is not allowed; ask the operator.',
    });
  });
});

test('a secret of the caller stands in no problem, on no way to fail', async () => {
  const canary = 'canary-7f3a';
  const answers: ScriptedAnswer[] = [
    { status: 401, body: canary },
    { status: 302, headers: { location: `https://${canary}/` } },
    { status: 429, headers: { 'retry-after': canary } },
    { body: canary },
    { reset: true },
    { handle: (response) => void response.socket?.end(`HTTP/9 ${canary}\r\n\r\n`) },
  ];
  for (const answer of answers) {
    const server = await scripted(answer);
    const to = target(`${server.url}?key=${canary}`, { headers: { authorization: `Bearer ${canary}` } });
    const { problem } = await asking(to);
    expect(problem?.code).toBe('model_failed');
    expect(inspect(problem, { depth: null, showHidden: true })).not.toContain(canary);
  }
  const refused = await asking(target(`https://${canary}:x@10.0.0.1/?k=${canary}`), { allowedHosts: [] });
  expect(inspect(refused.problem, { depth: null })).not.toContain(canary);
});

test('a webhook that keeps failing is left alone for a while, then probed', async () => {
  let broken = true;
  const server = await scripted(() => (broken ? { status: 503 } : FUNCTION));
  let ns = 0n;
  const model = createWebhookModel({
    timeoutMs: 20_000,
    allowedHosts: [server.hostPort],
    clock: { now: () => new Date(), monotonicNs: () => ns },
    sleep: async () => {},
  });
  const ask = (url = server.url) => model.ask(prompt, target(url), context, new AbortController().signal);
  for (let step = 0; step < 10; step += 1) await ask();
  expect(server.requests).toHaveLength(30);
  expect(await ask()).toMatchObject({
    code: 'model_failed',
    extra: { reason: 'circuit_open' },
    retryAfterSeconds: 15,
  });
  expect(server.requests).toHaveLength(30);
  // Another path of the same host has nothing to do with it.
  await ask(`${server.url}/other`);
  expect(server.requests).toHaveLength(33);
  ns += 15_000_000_000n;
  broken = false;
  expect(await ask()).toHaveProperty('source');
  expect(await ask()).toHaveProperty('source');
  await model.close();
});

test('an answer between failures, and a limit that was reached, keep a webhook in use', async () => {
  let answer: ScriptedAnswer = { status: 503 };
  const server = await scripted(() => answer);
  const model = createWebhookModel({
    timeoutMs: 20_000,
    allowedHosts: [server.hostPort],
    clock: systemClock,
    sleep: async () => {},
  });
  const ask = async (times: number) => {
    for (let step = 0; step < times; step += 1) {
      await model.ask(prompt, target(server.url), context, new AbortController().signal);
    }
  };
  await ask(9);
  answer = { text: 'no function here' };
  await ask(1);
  answer = { status: 503 };
  await ask(9);
  answer = { status: 429 };
  await ask(9);
  expect(server.requests).toHaveLength(9 * 3 + 1 + 9 * 3 + 9 * 3);
  await model.close();
});
