import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAKE_USAGE, returned } from '../fakes/sandbox.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

let service: TestService;
let port: number;
beforeAll(async () => {
  service = await startTestService();
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  port = (service.app.server.address() as { port: number }).port;
});
afterAll(() => service.close());

/** Sends raw bytes and gives back all that comes until the connection closes. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
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
  ])('get a problem for %s', async (_name, bytes, status, code) => {
    const answer = await raw(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain('application/problem+json');
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({ status, code });
  });
});

describe('a request that is refused before its body is there', () => {
  it('has its connection closed, so that nobody can hold it by never sending the rest', async () => {
    const answer = await raw('POST /v1/compute HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{');
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
    expect(answer.toLowerCase()).toContain('connection: close');
  });
});

describe('a caller who hangs up', () => {
  const body = JSON.stringify({
    code: 'def compute(data):\n    return 1\n',
    sources: [{ result: 1 }],
  });

  it('has the run ended, and it counts', async () => {
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
      body,
      signal: controller.signal,
    }).catch((error: Error) => error.name);
    await running;
    controller.abort();
    expect(await call).toBe('AbortError');
    await expect.poll(() => service.finished.at(-1)?.outcome).toBe('cancelled');
    const usage = (await service.get('/v1/usage')).json;
    expect(usage).toMatchObject({ open_permits: 0, outcomes: { cancelled: 1 } });
  });

  it('has its place free again', async () => {
    service.sandbox.answer = () => returned('1');
    expect((await service.post('/v1/compute/run', body)).status).toBe(200);
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
    const { json } = await own.post('/v1/compute/run', {
      code: 'def compute(data):\n    return 1\n',
      sources: [{ result: 1 }],
    });
    expect(json).toMatchObject({ state: 'failed', failure: { code: 'cancelled' } });
    await own.close();
  });
});
