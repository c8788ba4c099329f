import type { Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createDockerEngine, type Engine } from '../../../src/sandbox/engine.ts';
import {
  type FaultySocket,
  jsonReply,
  type SocketScript,
  startFaultySocket,
} from '../../fakes/faulty-socket.ts';
import { eventually } from '../../fakes/sandbox-run.ts';

const ID = 'a'.repeat(64);
const cleanUp: (() => unknown)[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const step of cleanUp.splice(0)) {
    await step();
  }
});

async function engineAt(script: SocketScript): Promise<{ engine: Engine; socket: FaultySocket }> {
  const socket = await startFaultySocket(script);
  const engine = createDockerEngine(socket.dockerHost);
  cleanUp.push(
    () => engine.close(),
    () => socket.close(),
  );
  return { engine, socket };
}

const silent: SocketScript = () => {};
const half: SocketScript = (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"Id":');
const halfThenEnd: SocketScript = (socket) =>
  socket.end('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"Id":');
const reset: SocketScript = (socket) => socket.destroy();

describe('an engine', () => {
  test.each([
    ['that accepts and says nothing', silent, 'timeout'],
    ['that stops in the middle of an answer', half, 'timeout'],
    ['that closes in the middle of an answer', halfThenEnd, 'timeout'],
    ['that closes the connection', reset, 'unreachable'],
  ] as const)('%s ends a ping within seconds', async (_what, script, fault) => {
    const { engine } = await engineAt(script);
    await expect(engine.ping()).rejects.toMatchObject({ name: 'EngineError', fault });
  });

  test.each([
    ['attach', (engine: Engine, signal: AbortSignal) => engine.attach(ID, signal)],
    ['start', (engine: Engine, signal: AbortSignal) => engine.start(ID, signal)],
    ['limitMemory', (engine: Engine, signal: AbortSignal) => engine.limitMemory(ID, 1, signal)],
  ])('that says nothing does not outlast the caller of %s, nor keep the connection', async (_call, call) => {
    const { engine, socket } = await engineAt(silent);
    const caller = new AbortController();
    const outcome = call(engine, caller.signal);
    await eventually(() => socket.open === 1 && socket.received.length > 0, 'the call was made');
    caller.abort();
    await expect(outcome).rejects.toMatchObject({ fault: 'cancelled' });
    await eventually(() => socket.open === 0, 'the connection is closed');
  });

  test('that does not report an exit ends the wait for it', async () => {
    const { engine } = await engineAt(silent);
    await expect(engine.wait(ID, 30)).rejects.toMatchObject({ fault: 'timeout' });
  });

  test('that is not there is unreachable, by socket and by port', async () => {
    const gone = createDockerEngine('unix:///nowhere/engine.sock');
    await expect(gone.ping()).rejects.toMatchObject({ fault: 'unreachable' });
    const refused = createDockerEngine('tcp://127.0.0.1:1');
    await expect(refused.ping()).rejects.toMatchObject({ fault: 'unreachable' });
  });

  test('that answers with an error status is refused, with its message', async () => {
    const { engine } = await engineAt((socket) =>
      socket.write(jsonReply(400, { message: 'unknown runtime' })),
    );
    const call = engine.create({ Image: 'x' });
    await expect(call).rejects.toMatchObject({ fault: 'refused', status: 400 });
    await expect(call).rejects.toThrow(/unknown runtime/);
  });

  test('is told what to create in the body of the call alone', async () => {
    const { engine, socket } = await engineAt((connection) => connection.write(jsonReply(201, { Id: ID })));
    const spec = { Image: 'x', HostConfig: { SecurityOpt: ['no-new-privileges'] } };
    expect(await engine.create(spec)).toBe(ID);
    const [head, body] = socket.received.join('').split('\r\n\r\n');
    expect(head?.split('\r\n')[0]).toBe('POST /containers/create? HTTP/1.1');
    expect(head).toMatch(/^content-type: application\/json$/im);
    expect(JSON.parse(body ?? '')).toEqual(spec);
  });

  test('that answers a create call without an id has not created anything', async () => {
    const { engine } = await engineAt((socket) => socket.write(jsonReply(201, { Id: '../../images/x' })));
    await expect(engine.create({ Image: 'x' })).rejects.toMatchObject({ name: 'EngineError' });
  });

  test('that knows no such image says so without an error', async () => {
    const { engine, socket } = await engineAt((connection) =>
      connection.write(jsonReply(404, { message: 'no' })),
    );
    expect(await engine.imageId('compute-step-sandbox:x')).toBeNull();
    expect(socket.received[0]).toMatch(/^GET \/images\/compute-step-sandbox:x\/json /);
  });

  test('that knows no such container has removed and killed it', async () => {
    const { engine } = await engineAt((socket) => socket.write(jsonReply(404, { message: 'no' })));
    await expect(engine.remove(ID)).resolves.toBeUndefined();
    await expect(engine.kill(ID)).resolves.toBeUndefined();
  });

  test('that is still removing a container has not removed it', async () => {
    const { engine } = await engineAt((socket) => socket.write(jsonReply(409, { message: 'in progress' })));
    await expect(engine.remove(ID)).rejects.toMatchObject({ status: 409 });
    await expect(engine.kill(ID)).resolves.toBeUndefined();
  });

  test('is asked for SIGKILL and for removal by force', async () => {
    const { engine, socket } = await engineAt((connection) => connection.write('HTTP/1.1 204 X\r\n\r\n'));
    await engine.kill(ID);
    await engine.remove(ID);
    expect(socket.received[0]).toMatch(new RegExp(`^POST /containers/${ID}/kill\\?signal=SIGKILL `));
    expect(socket.received[1]).toMatch(new RegExp(`^DELETE /containers/${ID}\\?force=true&v=true `));
  });

  test.each([
    ['2', 2],
    ['1', 1],
    [undefined, 1],
  ])('with cgroup version %s is taken for version %d', async (CgroupVersion, cgroupVersion) => {
    const { engine } = await engineAt((socket) => socket.write(jsonReply(200, { CgroupVersion })));
    expect(await engine.facts()).toEqual({ cgroupVersion, version: 'unknown', defaultRuntime: 'unknown' });
  });

  test.each([
    ['a lack of memory', '{"status":"oom","Action":"oom"}\n', { oom: true, kill: false }],
    ['a kill', '{"status":"kill","Action":"kill"}\n', { oom: false, kill: true }],
    ['both', '{"status":"oom","Action":"oom"}\n{"Action":"kill"}\n', { oom: true, kill: true }],
    ['two of a kind', '{"Action":"oom"}\n{"Action":"oom"}\n', { oom: true, kill: false }],
    ['nothing', '', { oom: false, kill: false }],
  ])('whose events hold %s has reported just that', async (_what, body, reported) => {
    const { engine, socket } = await engineAt((connection) =>
      connection.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      ),
    );
    expect(await engine.reportedEnds(ID, new Date(1_800_000_000_250))).toEqual(reported);
    const request = decodeURIComponent(socket.received[0] ?? '');
    expect(request).toContain(
      `GET /events?since=1&until=1800000000.25&filters={"container":["${ID}"],"event":["oom","kill"]}`,
    );
  });

  test('is asked for one reading of usage, not for two a second apart', async () => {
    const { engine, socket } = await engineAt((connection) => connection.write(jsonReply(200, {})));
    expect(await engine.usage(ID, 1000)).toEqual({ cpuSeconds: null, peakMemoryBytes: null });
    expect(socket.received[0]).toMatch(
      new RegExp(`^GET /containers/${ID}/stats\\?stream=false&one-shot=true `),
    );
  });

  test.each([
    ['ends the connection', (connection: Socket) => connection.destroy()],
    ['tells of a change', (connection: Socket) => connection.write('3\r\n{}\n\r\n')],
  ])('that is watched and %s ends the watch', async (_what, then) => {
    let connection: Socket | null = null;
    const { engine, socket } = await engineAt((opened) => {
      connection = opened;
      opened.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    });
    const watch = await engine.watch();
    expect(decodeURIComponent(socket.received[0] ?? '')).toMatch(
      /^GET \/events\?filters=\{"type":\["daemon"\]\} /,
    );
    let ended = false;
    void watch.ended.then(() => {
      ended = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ended).toBe(false);
    then(connection as unknown as Socket);
    await watch.ended;
    await eventually(() => socket.open === 0, 'the connection is closed');
  });

  test('that is watched is let go of when the watch is stopped', async () => {
    const { engine, socket } = await engineAt((opened) =>
      opened.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'),
    );
    const watch = await engine.watch();
    watch.stop();
    await watch.ended;
    await eventually(() => socket.open === 0, 'the connection is closed');
  });

  test('is the one of the setting, whatever the environment says', async () => {
    vi.stubEnv('DOCKER_HOST', 'tcp://127.0.0.1:1');
    vi.stubEnv('DOCKER_TLS_VERIFY', '1');
    const { engine } = await engineAt((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK'),
    );
    await expect(engine.ping()).resolves.toBeUndefined();
  });
});
