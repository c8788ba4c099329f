import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { HTTP_LIMITS, type HttpLimits } from '../../src/http/limits.ts';
import { FAKE_USAGE, returned } from '../fakes/sandbox.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../fakes/service.ts';

const CODE = 'def compute(data):\n    return 1\n';
const RUN = JSON.stringify({ code: CODE, sources: [{ result: 1 }] });
const POLL = { timeout: 15_000, interval: 50 };

let service: TestService;
let port: number;
const others: TestService[] = [];
const sockets: Socket[] = [];
beforeAll(async () => {
  service = await listening({});
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const other of others.splice(1)) await other.close();
  use(service);
});
afterAll(() => service.close());

async function listening(options: TestServiceOptions): Promise<TestService> {
  const made = await startTestService(options);
  others.push(made);
  await made.app.listen({ host: '127.0.0.1', port: 0 });
  use(made);
  return made;
}

/** Where `open` and `raw` go to. */
function use({ app }: TestService): void {
  port = (app.server.address() as { port: number }).port;
}

const within = (limits: Partial<HttpLimits>, more: TestServiceOptions = {}) =>
  listening({ ...more, limits: { ...HTTP_LIMITS, ...limits } });

/** A connection: what came on it so far, and all of it when it is closed. */
function open(bytes: string | Buffer = '') {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  socket.on('end', () => socket.end());
  const all = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  if (bytes.length > 0) socket.write(bytes);
  return { socket, all, text: () => text };
}

const raw = (bytes: string) => open(bytes).all;

function post(path: string, { key }: TestService, body: string, more = ''): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const health = (more = '') => `GET /healthz HTTP/1.1\r\nhost: x\r\n${more}\r\n`;

/** How many connections a service has. */
const connectionsOf = ({ app }: TestService): Promise<number> =>
  new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)));

/** The problem in an answer that came raw, and its status line. */
function problemIn(answer: string) {
  expect(answer).toContain('application/problem+json');
  return { line: answer.split('\r\n', 1)[0], json: JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) };
}

describe('bytes that are no request', () => {
  it.each([
    ['garbage', 'GARBAGE\r\n\r\n', 400, 'invalid_request'],
    [
      'a flood of header fields',
      `GET /healthz HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(20_000)}\r\n`,
      431,
      'request_header_fields_too_large',
    ],
    [
      'one field that is too long',
      `GET /healthz HTTP/1.1\r\nhost: x\r\na: ${'b'.repeat(20_000)}\r\n\r\n`,
      431,
      'request_header_fields_too_large',
    ],
    [
      'two lengths',
      post('/v1/compute/run', { key: 'x' } as TestService, 'x', 'content-length: 5\r\n'),
      400,
      'invalid_request',
    ],
    [
      'a length and chunks',
      post('/v1/compute/run', { key: 'x' } as TestService, 'x', 'transfer-encoding: chunked\r\n'),
      400,
      'invalid_request',
    ],
    ['chunks that are not last', health('transfer-encoding: chunked, identity\r\n'), 400, 'invalid_request'],
    ['a space before a colon', health('transfer-encoding : chunked\r\n'), 400, 'invalid_request'],
    ['a folded field', health('a: b\r\n c\r\n'), 400, 'invalid_request'],
    ['a length that is no number', health('content-length: +5\r\n'), 400, 'invalid_request'],
    ['a bad chunk', `${health('transfer-encoding: chunked\r\n')}zz\r\n`, 400, 'invalid_request'],
    ['no host', 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n', 400, 'invalid_request'],
    [
      'a target that is of OPTIONS',
      'GET * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
      400,
      'invalid_request',
    ],
    ['a tunnel', 'CONNECT x:443 HTTP/1.1\r\nhost: x:443\r\n\r\n', 400, 'invalid_request'],
    ['two hosts', health('host: y\r\nconnection: close\r\n'), 400, 'invalid_request'],
  ])('get a problem for %s', async (_name, bytes, status, code) => {
    const { line, json } = problemIn(await raw(bytes));
    expect(line).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(json).toMatchObject({ status, code });
  });

  it.each([
    ['garbage', 'GARBAGE\r\n\r\n'],
    ['a tunnel', 'CONNECT x:443 HTTP/1.1\r\nhost: x:443\r\n\r\n'],
  ])('lose their connection after %s, even where their side stays open', async (_name, bytes) => {
    const own = await within({ headersMs: 500 });
    const { socket, text } = open();
    socket.removeAllListeners('end').write(bytes);
    await expect.poll(text, POLL).toContain('"invalid_request"');
    await expect.poll(() => connectionsOf(own), POLL).toBe(0);
  });

  it('lose no field to their number: what fits in the bytes is read', async () => {
    const fields = 'a:\r\n'.repeat(3000);
    const answer = await raw(
      `GET /v1/usage HTTP/1.1\r\nhost: x\r\n${fields}authorization: Bearer ${service.key}\r\nconnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe('bytes that are no request, behind some that are', () => {
  /** A service whose one run ends when `finish` is called, and what its signal came to. */
  async function slowRun(limits: Partial<HttpLimits> = {}) {
    const own = await within(limits);
    const run = { ended: false, finish: (): void => {} };
    own.sandbox.answer = (_run, signal) =>
      new Promise((report) => {
        signal.addEventListener('abort', () => {
          run.ended = true;
          report({ kind: 'killed', reason: 'cancelled', usage: FAKE_USAGE });
        });
        run.finish = () => report(returned('1'));
      });
    return { own, run };
  }
  const codes = (answer: string) => answer.match(/HTTP\/1.1 \d+/g);

  it('get their problem after the answers to those, which are not ended by it', async () => {
    const { own, run } = await slowRun();
    const { socket, all, text } = open(post('/v1/compute/run', own, RUN) + health());
    await expect.poll(() => own.sandbox.runs.length, POLL).toBe(1);
    let refused = 0;
    own.app.server.on('clientError', () => {
      refused += 1;
    });
    for (const garbage of [1, 2]) {
      socket.write('GARBAGE\r\n\r\n');
      await expect.poll(() => refused, POLL).toBeGreaterThanOrEqual(garbage);
    }
    expect(text()).toBe('');
    run.finish();
    const answer = await all;
    expect(codes(answer)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400']);
    expect(answer).toMatch(/"state":"succeeded".*"status":"ok".*"code":"invalid_request"/s);
    expect(run.ended).toBe(false);
  });

  it('are told so behind a request that is too slow, too', async () => {
    const { own, run } = await slowRun({ headersMs: 500, checkEveryMs: 100 });
    const { all, text } = open(`${post('/v1/compute/run', own, RUN)}GET /he`);
    await expect.poll(() => own.sandbox.runs.length, POLL).toBe(1);
    await new Promise((resolve) => own.app.server.on('clientError', resolve));
    expect(text()).toBe('');
    run.finish();
    expect(codes(await all)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 408']);
  });

  it('get their problem there when they ask for a tunnel', async () => {
    const { own, run } = await slowRun();
    const { all } = open(
      `${post('/v1/compute/run', own, RUN)}${health()}CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n`,
    );
    await expect.poll(() => own.sandbox.runs.length, POLL).toBe(1);
    run.finish();
    const answer = await all;
    expect(codes(answer)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400']);
    expect(answer).toMatch(/"state":"succeeded".*"status":"ok".*"code":"invalid_request"/s);
  });

  it('do not keep a run going whose caller asks for a tunnel and is gone', async () => {
    const { own, run } = await slowRun();
    const { socket } = open(post('/v1/compute/run', own, RUN));
    await expect.poll(() => own.sandbox.runs.length, POLL).toBe(1);
    const asked = new Promise((resolve) => own.app.server.on('connect', resolve));
    socket.write('CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n');
    await asked;
    socket.resetAndDestroy();
    await expect.poll(() => run.ended, POLL).toBe(true);
  });

  it('do not keep a run going whose caller is gone', async () => {
    const { own, run } = await slowRun();
    const { socket } = open(post('/v1/compute/run', own, RUN));
    await expect.poll(() => own.sandbox.runs.length, POLL).toBe(1);
    const refused = new Promise((resolve) => own.app.server.on('clientError', resolve));
    socket.write('GARBAGE\r\n\r\n');
    await refused;
    socket.destroy();
    await expect.poll(() => run.ended, POLL).toBe(true);
  });
});

describe('a request that is refused before its body is there', () => {
  it.each([
    ['without a key', 'POST /v1/compute HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{', 401],
    ['to no path', 'POST /nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{', 404],
    [
      'by a method that is not there',
      'PUT /v1/compute HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{',
      405,
    ],
  ])(
    '%s has its connection closed, so that nobody can hold it by never sending the rest',
    async (_name, bytes, status) => {
      await within({ discardMs: 1000 });
      const answer = await raw(bytes);
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer.toLowerCase()).toContain('connection: close');
    },
  );

  it('is not sent for where its sender asks first', async () => {
    const own = await within({}, { bodyMaxBytes: 1024 });
    const asking = (key: string, length: number) =>
      open(
        `POST /v1/compute/run HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`,
      );
    const unknown = asking('nobody', 10);
    const large = asking(own.key, 2048);
    await expect.poll(unknown.text, POLL).toMatch(/^HTTP\/1.1 401 /);
    await expect.poll(large.text, POLL).toMatch(/^HTTP\/1.1 413 /);
    const fine = asking(own.key, RUN.length);
    await expect.poll(fine.text, POLL).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    fine.socket.write(RUN);
    await expect.poll(fine.text, POLL).toContain('"succeeded"');
  });

  it('is taken from an HTTP/1.0 client without an interim answer, which it would not know', async () => {
    const own = await within({});
    const answer = await raw(
      post('/v1/compute/run', own, RUN, 'expect: 100-continue\r\n').replace('HTTP/1.1', 'HTTP/1.0'),
    );
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer).toContain('"succeeded"');
  });

  it('is taken with an expectation that nobody knows, and refused with a problem', async () => {
    const own = await within({});
    const expecting = (key: string) =>
      open(
        `POST /v1/compute/run HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\nexpect: miracles\r\ncontent-length: ${RUN.length}\r\n\r\n${RUN}`,
      );
    await expect.poll(expecting('nobody').text, POLL).toContain('"unauthorized"');
    await expect.poll(expecting(own.key).text, POLL).toContain('"succeeded"');
  });
});

describe('a body that is too large', () => {
  const large = 8 * 1024 * 1024;

  it.each([
    ['of a length that is told', { 'content-length': String(large) }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('%s is 413 to a client that first sends all of it', async (_name, headers) => {
    const own = await within({}, { bodyMaxBytes: 256 * 1024 });
    const [[name, value]] = Object.entries(headers) as [[string, string]];
    const { socket, all } = open(
      `POST /v1/compute/run HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${own.key}\r\ncontent-type: application/json\r\n${name}: ${value}\r\n\r\n`,
    );
    socket.pause();
    let failed: Error | null = null;
    socket.on('error', (error) => {
      failed = error;
    });
    const chunk = Buffer.alloc(256 * 1024, 0x20);
    for (let sent = 0; sent < large; sent += chunk.length) {
      const frame =
        name === 'content-length'
          ? chunk
          : Buffer.concat([Buffer.from('40000\r\n'), chunk, Buffer.from('\r\n')]);
      if (!socket.write(frame)) await new Promise((resolve) => socket.once('drain', resolve));
    }
    if (name !== 'content-length') socket.write('0\r\n\r\n');
    // Only now it looks.
    socket.resume();
    expect(problemIn(await all)).toMatchObject({ json: { code: 'body_too_large' } });
    expect(failed).toBeNull();
  });

  it('is 413 to fetch', async () => {
    const own = await within({}, { bodyMaxBytes: 256 * 1024 });
    for (let i = 0; i < 5; i += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/compute/run`, {
        method: 'POST',
        headers: { authorization: `Bearer ${own.key}`, 'content-type': 'application/json' },
        body: 'x'.repeat(large),
      });
      expect(answer.status).toBe(413);
      expect(await answer.json()).toMatchObject({ code: 'body_too_large' });
    }
  });

  it('is read on for so many bytes only', async () => {
    const own = await within({ discardBytes: 1024 * 1024 }, { bodyMaxBytes: 256 * 1024 });
    const { socket, all } = open(
      post('/v1/compute/run', own, '').replace('content-length: 0', `content-length: ${2 ** 32}`),
    );
    const chunk = Buffer.alloc(256 * 1024);
    let sent = 0;
    const push = (): void => {
      while (!socket.destroyed && sent < 2 ** 30) {
        sent += chunk.length;
        if (!socket.write(chunk)) {
          socket.once('drain', push);
          return;
        }
      }
    };
    push();
    await all;
    // What the kernels hold comes on top.
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });
});

describe('a client that is slow', () => {
  const slow = { headersMs: 1000, requestMs: 2000, checkEveryMs: 200 };
  /** A byte now and then, until the connection is closed. */
  function drip(socket: Socket, byte: string): void {
    const timer = setInterval(() => socket.write(byte), 200);
    socket.on('close', () => clearInterval(timer));
  }

  it('with its head is 408', async () => {
    await within(slow);
    const { socket, all } = open('GET /healthz HTTP/1.1\r\n');
    drip(socket, 'a');
    expect(problemIn(await all)).toMatchObject({ json: { code: 'request_timeout' } });
  });

  it('with its body is 408, and its place is free again', async () => {
    const own = await within(slow, { tenant: { max_concurrency: 1 } });
    const { socket, all } = open(
      post('/v1/compute/run', own, '').replace('content-length: 0', 'content-length: 1000'),
    );
    drip(socket, ' ');
    expect(problemIn(await all)).toMatchObject({ json: { code: 'request_timeout' } });
    await expect.poll(async () => (await own.post('/v1/compute/run', RUN)).status, POLL).toBe(200);
  });

  it('and sends nothing at all is cut off', async () => {
    await within(slow);
    expect(problemIn(await raw('')).json).toMatchObject({ code: 'request_timeout' });
  });

  it('and takes nothing of its answer loses the connection and its place', async () => {
    const own = await within({ answerStallMs: 1000 }, { tenant: { max_concurrency: 1 } });
    // More than the two kernels hold for it.
    own.sandbox.answer = () => returned(`"${'x'.repeat(16_000_000)}"`);
    const { socket } = open();
    socket.pause();
    socket.write(post('/v1/compute/run', own, RUN));
    await expect.poll(() => own.sandbox.runs.length, POLL).toBe(1);
    own.sandbox.answer = () => returned('1');
    expect((await own.post('/v1/compute/run', RUN)).status).toBe(429);
    await expect.poll(async () => (await own.post('/v1/compute/run', RUN)).status, POLL).toBe(200);
  });

  it('and takes nothing of an answer that had to wait for its turn loses the connection as well', async () => {
    const own = await within({ answerStallMs: 1000 });
    let finish = (): void => {};
    own.sandbox.answer = () =>
      new Promise((report) => {
        finish = () => report(returned('1'));
      });
    const { socket } = open();
    socket.pause();
    socket.write(post('/v1/compute/run', own, RUN));
    await expect.poll(() => own.sandbox.runs.length, POLL).toBe(1);
    own.sandbox.answer = () => returned(`"${'x'.repeat(16_000_000)}"`);
    let waiting: ServerResponse | undefined;
    own.app.server.once('request', (_request, response) => {
      waiting = response;
    });
    socket.write(post('/v1/compute/run', own, RUN));
    await expect.poll(() => waiting?.writableLength ?? 0, POLL).toBeGreaterThan(16_000_000);
    finish();
    await expect.poll(() => connectionsOf(own), POLL).toBe(0);
  });

  it('is not so for what the service itself takes, in its first request or a later one', async () => {
    const own = await within({ answerStallMs: 500 });
    own.sandbox.answer = () => new Promise((report) => setTimeout(() => report(returned('1')), 1500));
    const { text } = open(health() + post('/v1/compute/run', own, RUN) + health());
    await expect.poll(text, POLL).toMatch(/"ok".*"succeeded".*"ok"/s);
  });
});

describe('a client that ends its sending side', () => {
  it.each([
    ['healthz', () => health()],
    ['a run', () => post('/v1/compute/run', service, RUN)],
    ['a run of HTTP/1.1 that takes a while', () => post('/v1/compute/run', service, RUN)],
  ])('still gets its answer: %s', async (name, bytes) => {
    if (name.endsWith('while')) {
      service.sandbox.answer = (_run, signal) =>
        new Promise((report) => {
          const timer = setTimeout(() => report(returned('1')), 1500);
          signal.addEventListener('abort', () => {
            clearTimeout(timer);
            report({ kind: 'killed', reason: 'cancelled', usage: FAKE_USAGE });
          });
        });
    }
    const { socket, all } = open();
    socket.end(bytes());
    const answer = await all;
    service.sandbox.answer = () => returned('1');
    expect(answer).toMatch(/^(HTTP\/1.1 102 Processing\r\n\r\n)*HTTP\/1.1 200 OK\r\n/);
    if (name !== 'healthz') expect(answer).toContain('"state":"succeeded"');
  });

  it('in HTTP/1.0, which knows no interim answers, counts as hung up', async () => {
    const ended = new Promise<string>((resolve) => {
      service.sandbox.answer = (_run, signal) =>
        new Promise((report) => {
          signal.addEventListener('abort', () => {
            report({ kind: 'killed', reason: 'cancelled', usage: FAKE_USAGE });
            resolve('ended');
          });
        });
    });
    const { socket } = open();
    socket.end(post('/v1/compute/run', service, RUN).replace('HTTP/1.1', 'HTTP/1.0'));
    expect(await ended).toBe('ended');
    service.sandbox.answer = () => returned('1');
  });
});

describe('many connections', () => {
  it('beyond the bound close the one that is idle longest, not one with work, and keep nobody out', async () => {
    let finish = (): void => {};
    const own = await within({ connections: 10 });
    own.sandbox.answer = () =>
      new Promise((report) => {
        finish = () => report(returned('1'));
      });
    const working = open(post('/v1/compute/run', own, RUN));
    await expect.poll(() => own.sandbox.runs.length, POLL).toBe(1);
    const first = open(health());
    await expect.poll(first.text, POLL).toContain('"ok"');
    for (let i = 0; i < 30; i += 1) open();
    const { all } = open(health('connection: close\r\n'));
    expect(await all).toContain('"ok"');
    await first.all;
    finish();
    await expect.poll(working.text, POLL).toContain('"succeeded"');
    expect(await connectionsOf(own)).toBeLessThanOrEqual(10);
  });

  it('that all have work in them keep theirs, and the next is closed', async () => {
    const own = await within({ connections: 2 });
    const finish: (() => void)[] = [];
    own.sandbox.answer = () => new Promise((report) => void finish.push(() => report(returned('1'))));
    const working = [open(post('/v1/compute/run', own, RUN)), open(post('/v1/compute/run', own, RUN))];
    await expect.poll(() => finish.length, POLL).toBe(2);
    expect(await raw(health())).toBe('');
    for (const end of finish) end();
    for (const { text } of working) await expect.poll(text, POLL).toContain('"succeeded"');
  });

  it('with more requests than it may have before their answers is told so, and closed after them', async () => {
    const own = await within({ pipelined: 2 });
    const finish: (() => void)[] = [];
    own.sandbox.answer = () => new Promise((report) => void finish.push(() => report(returned('1'))));
    const { all } = open(post('/v1/compute/run', own, RUN).repeat(4));
    await expect.poll(() => finish.length, POLL).toBe(2);
    for (const end of finish) end();
    const answer = await all;
    expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 503']);
    expect(answer.toLowerCase()).toContain('retry-after: 1');
    expect(own.sandbox.runs).toHaveLength(2);
  });
});

describe('a connection without a key', () => {
  it('has no more requests before their answers either, and is closed after them', async () => {
    await within({ pipelined: 2 });
    const answer = await raw(health().repeat(5));
    expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 503']);
  });
});

describe('a caller who hangs up', () => {
  it('has the run ended, and it counts', async () => {
    await expect.poll(async () => (await service.get('/v1/usage')).json.open_permits, POLL).toBe(0);
    const before = (await service.get('/v1/usage')).json.outcomes.cancelled ?? 0;
    const running = new Promise<void>((resolve) => {
      service.sandbox.answer = (_run, signal) =>
        new Promise((report) => {
          signal.addEventListener('abort', () =>
            report({ kind: 'killed', reason: 'cancelled', usage: FAKE_USAGE }),
          );
          resolve();
        });
    });
    const controller = new AbortController();
    const call = fetch(`http://127.0.0.1:${port}/v1/compute/run`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: RUN,
      signal: controller.signal,
    }).catch((error: Error) => error.name);
    await running;
    controller.abort();
    expect(await call).toBe('AbortError');
    await expect
      .poll(async () => (await service.get('/v1/usage')).json, POLL)
      .toMatchObject({ open_permits: 0, outcomes: { cancelled: before + 1 } });
    expect(service.finished.at(-1)?.outcome).toBe('cancelled');
  });

  it('has each request that waits for its turn on the connection ended as well, and its place free', async () => {
    const own = await within({}, { tenant: { max_concurrency: 2 }, bodyInflightMaxBytes: RUN.length * 2 });
    let ended = 0;
    own.sandbox.answer = (_run, signal) =>
      new Promise((report) => {
        signal.addEventListener('abort', () => {
          ended += 1;
          report({ kind: 'killed', reason: 'cancelled', usage: FAKE_USAGE });
        });
      });
    const { socket } = open(post('/v1/compute/run', own, RUN).repeat(2));
    await expect.poll(() => own.sandbox.runs.length, POLL).toBe(2);
    socket.destroy();
    await expect.poll(() => ended, POLL).toBe(2);
    const finish: (() => void)[] = [];
    own.sandbox.answer = () => new Promise((report) => void finish.push(() => report(returned('1'))));
    const { text } = open(post('/v1/compute/run', own, RUN).repeat(2));
    await expect.poll(() => finish.length, POLL).toBe(2);
    for (const end of finish) end();
    await expect.poll(() => text().match(/"succeeded"/g), POLL).toHaveLength(2);
  });

  it('has its place free again', async () => {
    service.sandbox.answer = () => returned('1');
    expect((await service.post('/v1/compute/run', RUN)).status).toBe(200);
  });
});

describe('a service that stops', () => {
  it('ends what still runs when its grace is over', async () => {
    const own = await startTestService();
    own.sandbox.answer = (_run, signal) =>
      new Promise((report) => {
        signal.addEventListener('abort', () =>
          report({ kind: 'killed', reason: 'cancelled', usage: FAKE_USAGE }),
        );
        setTimeout(() => own.stopping.abort(), 100);
      });
    const { json } = await own.post('/v1/compute/run', RUN);
    expect(json).toMatchObject({ state: 'failed', failure: { code: 'cancelled' } });
    await own.close();
  });

  it('answers every request that is in work on a connection before it closes that', async () => {
    const own = await startTestService();
    await own.app.listen({ host: '127.0.0.1', port: 0 });
    use(own);
    own.sandbox.answer = (_run, signal) =>
      new Promise((report) => {
        signal.addEventListener('abort', () =>
          report({ kind: 'killed', reason: 'cancelled', usage: FAKE_USAGE }),
        );
      });
    const { all } = open(post('/v1/compute/run', own, RUN).repeat(3));
    await expect.poll(() => own.sandbox.runs.length, POLL).toBe(3);
    await own.close();
    expect((await all).match(/"code":"cancelled"/g)).toHaveLength(3);
  });

  it('waits for nobody who has asked for nothing, or not yet for anything whole', async () => {
    const own = await startTestService();
    await own.app.listen({ host: '127.0.0.1', port: 0 });
    use(own);
    const waiting = [open(), open('GET /healthz HTTP/1.1\r\nhost: x\r\n'), open(health())];
    await expect.poll(waiting[2]?.text ?? String, POLL).toContain('"ok"');
    await expect.poll(() => connectionsOf(own), POLL).toBe(3);
    const cut = vi.spyOn(own.app.server, 'closeAllConnections');
    await own.close();
    await Promise.all(waiting.map(({ all }) => all));
    expect(cut).not.toHaveBeenCalled();
  });

  it('gives whoever never sends its body one time to read the refusal, not two', async () => {
    const own = await startTestService({ tenant: { max_concurrency: 1 } });
    await own.app.listen({ host: '127.0.0.1', port: 0 });
    use(own);
    const { all } = open(
      post('/v1/compute/run', own, '').replace('content-length: 0', 'content-length: 1000'),
    );
    await expect.poll(async () => (await own.post('/v1/compute/run', RUN)).status, POLL).toBe(429);
    const begunAt = performance.now();
    await own.close();
    expect(performance.now() - begunAt).toBeLessThan(3900);
    expect(problemIn(await all)).toMatchObject({ json: { status: 503, code: 'overloaded' } });
  });
});
