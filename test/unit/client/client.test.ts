import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type AnswerHead,
  type Client,
  ComputeStepConnectionError,
  ComputeStepProblem,
  createClient,
} from '../../../src/client/client.ts';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const KEY = 'cs_a-key-of-a-tenant';
/** The least that is a Computation. */
const LEAST = '{"id":"x","state":"failed"}';
const JSON_TYPE = { 'content-type': 'application/json' };
const received: Received[] = [];
let answer: (request: Received, response: ServerResponse) => void;
let server: Server;
let baseUrl: string;
let client: Client;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    const whole = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') };
    received.push(whole);
    answer(whole, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = createClient({ baseUrl, apiKey: KEY });
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  received.length = 0;
  answer = (_request, response) => response.writeHead(200, JSON_TYPE).end(LEAST);
});

const answers = (status: number, body: string | Buffer, headers: Record<string, string> = JSON_TYPE) => {
  answer = (_request, response) => response.writeHead(status, headers).end(body);
};
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error('it was to fail');
    },
    (error: unknown) => error,
  );
const step = { step: 'x', sources: [{ result: 1 }] };

describe('what is sent', () => {
  it('is the method, the path, the key and the body as JSON', async () => {
    await client.compute({ step: 'é', sources: [{ name: 'a', result_json: '[1.50]' }] });
    expect(received).toMatchObject([
      {
        method: 'POST',
        url: '/v1/compute',
        headers: {
          authorization: `Bearer ${KEY}`,
          'content-type': 'application/json',
          accept: 'application/json',
        },
        body: '{"step":"é","sources":[{"name":"a","result_json":"[1.50]"}]}',
      },
    ]);
    expect(received[0]?.headers).not.toHaveProperty('idempotency-key');
    expect(received[0]?.headers).not.toHaveProperty('traceparent');
  });

  it('goes to the path of a gateway where the base has one', async () => {
    for (const path of ['/compute/', '/compute', '/']) {
      await createClient({ baseUrl: new URL(path, baseUrl), apiKey: KEY }).usage();
    }
    expect(received.map(({ url }) => url)).toEqual(['/compute/v1/usage', '/compute/v1/usage', '/v1/usage']);
  });

  it('has the parameters in place', async () => {
    await client.usageOfMonth('2026-11');
    await client.usageOfMonth('../compute?x');
    await client.admit({ code: '' });
    await client.admit({ code: '' }, { all: true });
    expect(received.map(({ url }) => url)).toEqual([
      '/v1/usage/2026-11',
      '/v1/usage/..%2Fcompute%3Fx',
      '/v1/compute/admit',
      '/v1/compute/admit?all=true',
    ]);
  });

  it('keeps the key from what needs none', async () => {
    await client.health();
    await client.ready();
    expect(received.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });

  it('has the idempotency key and the trace context', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await client.run({ code: '', sources: [{ result: 1 }] }, { idempotencyKey: 'plan 7', traceparent });
    expect(received[0]?.headers).toMatchObject({ 'idempotency-key': 'plan 7', traceparent });
  });

  it.each([
    [{ idempotencyKey: '' }],
    [{ idempotencyKey: 'é' }],
    [{ idempotencyKey: 'x'.repeat(256) }],
    [{ idempotencyKey: 'a\r\nb' }],
    [{ traceparent: '00-x' }],
  ])('is refused with %j, and not sent', async (options) => {
    const error = await failure(client.compute(step, options));
    expect(error).toBeInstanceOf(TypeError);
    expect(received).toHaveLength(0);
  });

  it('is refused where JSON would change it, without its values in the message', async () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 10n ** 40n]) {
      const error = await failure(client.compute({ step: 'x', sources: [{ result: [{ secret: value }] }] }));
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toMatch(/NaN or Infinity|result_json/);
      expect((error as Error).message).not.toMatch(/secret|10000/);
    }
    expect(received).toHaveLength(0);
  });
});

describe('what comes back', () => {
  it('is the Computation of any state, with the digits of its result beside it', async () => {
    answers(200, '{"id":"x","state":"succeeded","result":9007199254740993,"x":{"result":1}}');
    expect(await client.compute(step)).toEqual({
      id: 'x',
      state: 'succeeded',
      result: 9007199254740992,
      x: { result: 1 },
      resultText: '9007199254740993',
    });
    answers(200, '{"id":"x","state":"failed","failure":{"code":"timeout"}}');
    expect(await client.run({ code: '', sources: [{ result: 1 }] })).toEqual({
      id: 'x',
      state: 'failed',
      failure: { code: 'timeout' },
      resultText: null,
    });
  });

  it('is whether it is ready, with 200 and with 503', async () => {
    answers(503, '{"status":"unavailable","failing":["engine"]}');
    expect(await client.ready()).toEqual({ status: 'unavailable', failing: ['engine'] });
  });

  it('survives characters that arrive in halves', async () => {
    answer = async (_request, response) => {
      const bytes = Buffer.from('{"id":"x","state":"succeeded","result":"é😀"}');
      response.writeHead(200, JSON_TYPE);
      for (const byte of bytes) {
        response.write(Buffer.from([byte]));
        await new Promise(setImmediate);
      }
      response.end();
    };
    expect((await client.compute(step)).resultText).toBe('"é😀"');
  });

  it('is told with status and headers, whatever it is', async () => {
    const heads: AnswerHead[] = [];
    const onAnswer = (head: AnswerHead) => heads.push(head);
    answers(200, LEAST, { ...JSON_TYPE, 'idempotency-replayed': 'true' });
    await client.compute(step, { onAnswer });
    answers(429, '{"code":"overloaded","detail":"x","retryable":true}');
    await failure(client.compute(step, { onAnswer }));
    expect(heads.map(({ status, headers }) => [status, headers.get('idempotency-replayed')])).toEqual([
      [200, 'true'],
      [429, null],
    ]);
  });
});

describe('a refusal', () => {
  it('is a problem with its code, whether and when to come back, and the members of the code', async () => {
    const document = {
      type: 'https://example.org/errors#quota_exceeded',
      title: 'The monthly quota is spent',
      status: 429,
      code: 'quota_exceeded',
      detail: 'compute_runs: 2 of 2 are used.',
      retryable: true,
      retry_after_seconds: 60,
      meter: 'compute_runs',
    };
    answers(429, JSON.stringify(document), { 'content-type': 'application/problem+json' });
    const error = await failure(client.compute(step));
    expect(error).toBeInstanceOf(ComputeStepProblem);
    expect(error).toMatchObject({
      name: 'ComputeStepProblem',
      message: 'quota_exceeded: compute_runs: 2 of 2 are used.',
      code: 'quota_exceeded',
      status: 429,
      retryable: true,
      retryAfterSeconds: 60,
      document,
    });
  });

  it('says whether it is the answer kept for its key', async () => {
    const body = '{"code":"deadline_exceeded","detail":"x","retryable":true}';
    answers(504, body, { ...JSON_TYPE, 'idempotency-replayed': 'true' });
    expect(await failure(client.compute(step))).toMatchObject({ retryable: true, replayed: true });
    answers(504, body);
    expect(await failure(client.compute(step))).toMatchObject({ retryable: true, replayed: false });
  });

  it('takes the time to wait from the header where the document has none', async () => {
    const body = '{"code":"overloaded","detail":"x","retryable":true}';
    answers(503, body, { ...JSON_TYPE, 'retry-after': '5' });
    expect(await failure(client.usage())).toMatchObject({ retryAfterSeconds: 5 });
    answers(503, body, { ...JSON_TYPE, 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' });
    expect(await failure(client.usage())).toMatchObject({ retryAfterSeconds: null });
    answers(503, body);
    expect(await failure(client.usage())).toMatchObject({ retryAfterSeconds: null });
  });
});

describe('no answer', () => {
  it.each([
    [502, '<html>Bad gateway</html>'],
    [200, '<html>Sign in</html>'],
    [200, ''],
    [200, 'null'],
    [200, '"a word"'],
    [200, '[]'],
    [200, '{}'],
    [200, '{"id":"x"}'],
    [200, '{"id":"x","state":7}'],
    [404, '{"message":"no such route"}'],
    [503, '{"code":"overloaded"}'],
  ])('is what something else answers: %i %s', async (status, body) => {
    answers(status, body);
    const error = await failure(client.compute(step));
    expect(error).toBeInstanceOf(ComputeStepConnectionError);
    expect(error).toMatchObject({ reason: 'answer', status });
  });

  it('is a redirect, which is not followed: the data goes to one place', async () => {
    answer = ({ url }, response) =>
      url === '/elsewhere'
        ? response.writeHead(200, JSON_TYPE).end('{}')
        : response.writeHead(307, { location: '/elsewhere' }).end();
    expect(await failure(client.compute(step))).toMatchObject({ reason: 'answer', status: 307 });
    expect(received).toHaveLength(1);
  });

  it('is bytes that are not UTF-8', async () => {
    answers(200, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]));
    expect(await failure(client.compute(step))).toMatchObject({ reason: 'answer', status: 200 });
    answers(200, Buffer.from([0x7b, 0x7d, 0xc3]));
    expect(await failure(client.compute(step))).toMatchObject({ reason: 'answer', status: 200 });
  });

  it('is more than may be read, and the rest is not read', async () => {
    let hungUp = false;
    answer = (_request, response) => {
      response.writeHead(200, JSON_TYPE);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, 32)));
      };
      response.on('drain', more).on('close', () => {
        hungUp = true;
      });
      more();
    };
    const small = createClient({ baseUrl, apiKey: KEY, answerMaxBytes: 1024 * 1024 });
    expect(await failure(small.compute(step))).toMatchObject({
      reason: 'answer',
      status: 200,
      message: expect.stringContaining('1048576 bytes'),
    });
    await until(() => hungUp);
  });

  it('is silence for too long, in the head or in the body, and the connection ends', async () => {
    for (const sent of [null, '{"state":']) {
      let hungUp = false;
      answer = (_request, response) => {
        response.on('close', () => {
          hungUp = true;
        });
        if (sent !== null) response.writeHead(200, JSON_TYPE).write(sent);
      };
      const error = await failure(client.compute(step, { timeoutMs: 200 }));
      expect(error).toBeInstanceOf(ComputeStepConnectionError);
      expect(error).toMatchObject({ reason: 'timeout', message: 'no answer within 200 ms' });
      await until(() => hungUp);
    }
    const impatient = createClient({ baseUrl, apiKey: KEY, timeoutMs: 200 });
    expect(await failure(impatient.compute(step))).toMatchObject({ reason: 'timeout' });
  });

  it('is a connection that cannot be made or breaks', async () => {
    const gone = createServer();
    await new Promise<void>((done) => gone.listen(0, '127.0.0.1', done));
    const { port } = gone.address() as AddressInfo;
    await new Promise((done) => gone.close(done));
    const nobody = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: KEY });
    const error = await failure(nobody.usage());
    expect(error).toMatchObject({ name: 'ComputeStepConnectionError', reason: 'network', status: null });
    expect((error as Error).cause).toBeInstanceOf(Error);
    answer = (_request, response) => {
      response.writeHead(200, JSON_TYPE).write('{"state":');
      setTimeout(() => response.destroy(), 20);
    };
    expect(await failure(client.usage())).toMatchObject({ reason: 'network' });
  });

  it('tells nothing of what was sent or received', async () => {
    for (const [status, body] of [
      [200, 'secret-canary'],
      [500, '{"secret-canary'],
    ] as const) {
      answers(status, body);
      const error = await failure(
        client.compute({ step: 'secret-canary', sources: [{ result: 'secret-canary' }] }),
      );
      expect(inspect(error, { depth: 10 })).not.toMatch(/secret-canary|cs_a-key/);
    }
  });
});

describe('an abort', () => {
  it('ends the call with the caller’s reason, before and while it is made', async () => {
    const reason = new Error('no longer needed');
    expect(await failure(client.compute(step, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(received).toHaveLength(0);

    const leaving = new AbortController();
    let hungUp = false;
    answer = (_request, response) => {
      response.on('close', () => {
        hungUp = true;
      });
      leaving.abort(reason);
    };
    expect(await failure(client.compute(step, { signal: leaving.signal }))).toBe(reason);
    await until(() => hungUp);
  });
});

describe('a client', () => {
  it.each(['', 'models', 'ftp://127.0.0.1', 'http://user:secret@127.0.0.1', 'http://:secret@127.0.0.1'])(
    'is not made for %j',
    (url) => {
      expect(() => createClient({ baseUrl: url, apiKey: KEY })).toThrow(/^baseUrl must be/);
    },
  );

  it.each(['', 'two words', 'line\n', 'é', 'x'.repeat(513)])('is not made with the key %j', (apiKey) => {
    expect(() => createClient({ baseUrl, apiKey })).toThrow(/^apiKey must be [^\n]*$/);
  });

  it('shows no key where it is printed', () => {
    expect(inspect(client, { depth: 10 })).not.toContain(KEY);
    expect(JSON.stringify(client)).toBe('{}');
  });

  it('uses the fetch it is given', async () => {
    const asked: string[] = [];
    const own: typeof fetch = async (input) => {
      asked.push(String(input));
      return new Response('{"status":"ok"}', { headers: JSON_TYPE });
    };
    expect(await createClient({ baseUrl, apiKey: KEY, fetch: own }).health()).toEqual({ status: 'ok' });
    expect(asked).toEqual([`${baseUrl}/healthz`]);
  });
});

describe('progress', () => {
  const EVENTS = { 'content-type': 'text/event-stream; charset=utf-8' };
  const told = (id: number, more = {}) => JSON.stringify({ id: 'x', elapsed_ms: id, ...more });
  const event = (name: string, data: string) =>
    `event: ${name}\n${data
      .split('\n')
      .map((line) => `data: ${line}\n`)
      .join('')}\n`;

  it('is asked for only where somebody is told of it', async () => {
    await client.compute(step);
    answers(200, event('computation', LEAST), EVENTS);
    await client.compute(step, { onProgress: () => {} });
    expect(received.map(({ headers }) => headers.accept)).toEqual(['application/json', 'text/event-stream']);
  });

  it('is the phases as they come, and then the answer with its digits', async () => {
    const stream = [
      ':\n\n',
      event('prompt', told(1)),
      event('model', told(2, { attempt: 1 })),
      event('admission', told(3, { attempt: 1, admitted: false, rule_id: 'import', line: 2 })),
      ':\n\n',
      event('a newer one', told(4)),
      event('running', told(5)),
      event('computation', '{"id":"x","state":"succeeded","result":[9007199254740993,\n"é😀"]}'),
    ].join('');
    for (const text of [stream, stream.replaceAll('\n', '\r\n')]) {
      answer = async (_request, response) => {
        response.writeHead(200, EVENTS);
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length; at += 7) {
          response.write(bytes.subarray(at, at + 7));
          await new Promise(setImmediate);
        }
        response.end();
      };
      const phases: unknown[] = [];
      const computation = await client.compute(step, { onProgress: (each) => phases.push(each) });
      expect(phases).toEqual([
        { phase: 'prompt', id: 'x', elapsed_ms: 1 },
        { phase: 'model', id: 'x', elapsed_ms: 2, attempt: 1 },
        {
          phase: 'admission',
          id: 'x',
          elapsed_ms: 3,
          attempt: 1,
          admitted: false,
          rule_id: 'import',
          line: 2,
        },
        { phase: 'running', id: 'x', elapsed_ms: 5 },
      ]);
      expect(computation.resultText).toBe('[9007199254740993,\n"é😀"]');
    }
  });

  it('is told before the answer is there', async () => {
    let release = () => {};
    answer = (_request, response) => {
      response.writeHead(200, EVENTS).write(event('prompt', told(1)));
      release = () => response.end(event('computation', LEAST));
    };
    const computation = await client.compute(step, { onProgress: () => release() });
    expect(computation.state).toBe('failed');
  });

  it('ends with the first answer, however long the stream stays open, and the connection with it', async () => {
    const streams = [
      [event('computation', LEAST)],
      [
        event('computation', LEAST) +
          event('prompt', told(1)) +
          event('computation', '{"id":"y","state":"z"}'),
      ],
      [event('computation', LEAST), event('problem', '{"status":503}')],
    ];
    for (const pieces of streams) {
      let hungUp = false;
      answer = (_request, response) => {
        response.on('close', () => {
          hungUp = true;
        });
        response.writeHead(200, EVENTS);
        for (const piece of pieces) response.write(piece);
      };
      const phases: unknown[] = [];
      const onProgress = (each: unknown) => phases.push(each);
      expect(await client.compute(step, { onProgress, timeoutMs: 10_000 })).toMatchObject({ id: 'x' });
      expect(phases).toEqual([]);
      await until(() => hungUp);
    }
  });

  it('has its stream cancelled by any fetch, also one that takes no heed of an abort', async () => {
    let cancelled = false;
    const own: typeof fetch = async () =>
      new Response(
        new ReadableStream({
          start: (stream) => stream.enqueue(new TextEncoder().encode(event('computation', LEAST))),
          cancel: () => {
            cancelled = true;
          },
        }),
        { headers: EVENTS },
      );
    const computation = await createClient({ baseUrl, apiKey: KEY, fetch: own }).compute(step, {
      onProgress: () => {},
      timeoutMs: 10_000,
    });
    expect([computation.state, cancelled]).toEqual(['failed', true]);
  });

  it('ends in a problem like any other, before the first event and after it', async () => {
    const body = '{"status":503,"code":"overloaded","detail":"x","retryable":true,"retry_after_seconds":2}';
    for (const [status, text, headers] of [
      [503, body, { 'content-type': 'application/problem+json' }],
      [200, event('prompt', told(1)) + event('problem', body), EVENTS],
    ] as const) {
      answers(status, text, headers);
      const error = await failure(client.compute(step, { onProgress: () => {} }));
      expect(error).toBeInstanceOf(ComputeStepProblem);
      expect(error).toMatchObject({ code: 'overloaded', status: 503, retryAfterSeconds: 2 });
    }
  });

  it('that breaks off is a lost connection, and one that is no JSON is no answer', async () => {
    answers(200, event('prompt', told(1)), EVENTS);
    expect(await failure(client.compute(step, { onProgress: () => {} }))).toMatchObject({
      reason: 'network',
    });
    answers(200, `event: computation\ndata: ${LEAST}\n`, EVENTS);
    expect(await failure(client.compute(step, { onProgress: () => {} }))).toMatchObject({
      reason: 'network',
    });
    answers(200, event('problem', 'x'), EVENTS);
    expect(await failure(client.compute(step, { onProgress: () => {} }))).toMatchObject({ reason: 'answer' });
  });

  it('ends the call with what its listener throws', async () => {
    const own = new Error('of the listener');
    let hungUp = false;
    answer = (_request, response) => {
      response.on('close', () => {
        hungUp = true;
      });
      response.writeHead(200, EVENTS).write(event('prompt', told(1)));
    };
    const thrower = () => {
      throw own;
    };
    expect(await failure(client.compute(step, { onProgress: thrower }))).toBe(own);
    await until(() => hungUp);
  });
});

/** Waits for what another end does in its own time; fails by the test's limit. */
async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 10));
}

it('waits as long as it takes where its timeout is beyond what a timer takes', async () => {
  answer = (_request, response) => {
    setTimeout(() => response.writeHead(200, JSON_TYPE).end('{"status":"ok"}'), 50);
  };
  expect(await client.health({ timeoutMs: Number.POSITIVE_INFINITY })).toEqual({ status: 'ok' });
});
