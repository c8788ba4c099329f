import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';

const RUN = { code: 'def compute(data):\n    return 42\n', sources: [{ result: 1 }] };
const POLL = { timeout: 60_000, interval: 100 };
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';

let built: BuiltService;
const sockets: Socket[] = [];
beforeAll(async () => {
  built = await startBuiltService({
    env: {
      BODY_MAX_BYTES: '65536',
      SANDBOX_POOL_SIZE: '1',
      // What the environment says must not make the parser lenient.
      NODE_OPTIONS: '--insecure-http-parser',
    },
  });
  await built.ready();
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => built.stop());

function open(
  bytes: string,
  then: (socket: Socket) => void = () => {},
): { readonly text: () => string; readonly closed: () => boolean } {
  const { hostname, port } = new URL(built.service.api);
  const socket = connect(Number(port), hostname, () => {
    socket.write(bytes);
    then(socket);
  });
  sockets.push(socket);
  let text = '';
  let closed = false;
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
  });
  return { text: () => text, closed: () => closed };
}

/** So many connections, in parts that the listener's backlog takes. */
async function openMany(count: number, bytes: string) {
  const many: ReturnType<typeof open>[] = [];
  while (many.length < count) {
    const part = Array.from({ length: Math.min(100, count - many.length) }, () => open(bytes));
    many.push(...part);
    await expect.poll(() => part.every(({ text }) => text().includes('"ok"')), POLL).toBe(true);
  }
  return many;
}

describe('the built service', () => {
  it('keeps a thousand idle connections, and serves beside them', async () => {
    const idle = await openMany(1000, HEALTH);
    expect((await built.get('/healthz')).status).toBe(200);
    expect((await built.post('/v1/compute/run', RUN)).json).toMatchObject({ state: 'succeeded', result: 42 });
    expect(idle.filter(({ closed }) => closed())).toEqual([]);
  });

  it('closes the oldest of more than its bound, and keeps nobody out', async () => {
    const beyond = 50;
    const idle = await openMany(HTTP_LIMITS.connections + beyond, HEALTH);
    await expect
      .poll(() => idle.filter(({ closed }) => closed()).length, POLL)
      .toBeGreaterThanOrEqual(beyond);
    expect(idle.slice(-100).filter(({ closed }) => closed())).toEqual([]);
    expect((await built.get('/healthz')).status).toBe(200);
    expect((await built.post('/v1/compute/run', RUN)).json).toMatchObject({ state: 'succeeded' });
  });

  it('lets fetch see why a large body is refused', async () => {
    for (let i = 0; i < 5; i += 1) {
      const { status, json } = await built.post('/v1/compute/run', 'x'.repeat(20_000_000));
      expect([status, json.code]).toEqual([413, 'body_too_large']);
    }
  });

  it('answers a client that has ended its sending side, after a run on a real container', async () => {
    const body = JSON.stringify(RUN);
    const { text } = open(
      `POST /v1/compute/run HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${built.key}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      (socket) => socket.end(),
    );
    await expect.poll(text, POLL).toContain('"succeeded"');
  });

  it('takes no request in which another can be hidden, whatever node was told', async () => {
    const hidden = 'GET /healthz HTTP/1.1\r\nhost: y\r\n\r\n';
    const { text, closed } = open(
      `POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: ${5 + hidden.length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    );
    await expect.poll(closed, POLL).toBe(true);
    expect(text()).toMatch(/^HTTP\/1.1 400 .*"invalid_request"/s);
    expect(text()).not.toContain('"ok"');
  });

  it('cuts off who drips a head, and is alive meanwhile', async () => {
    const { text, closed } = open('GET /healthz HTTP/1.1\r\n');
    const socket = sockets.at(-1) as Socket;
    const drip = setInterval(() => socket.write('a'), 500);
    socket.on('close', () => clearInterval(drip));
    expect((await built.get('/healthz')).status).toBe(200);
    await expect.poll(closed, POLL).toBe(true);
    expect(text()).toMatch(/^HTTP\/1.1 408 .*"request_timeout"/s);
  });
});
