import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * What becomes of a call. `silent`: nobody answers, and the engine never hears of it. `deaf`: the engine does it, and
 * its answer is lost. `half`: the engine does it, and the answer breaks off. `reset`: the connection ends at once.
 * `error`: status 500. `slow`: as it should be, after a while.
 */
export type EngineFault = 'silent' | 'deaf' | 'half' | 'reset' | 'error' | 'slow';

export interface EngineProxy {
  /** Such as `unix:///tmp/…/engine.sock`. */
  readonly dockerHost: string;
  /** `METHOD /path` of every call so far, without the query. */
  readonly calls: readonly string[];
  /** The next call whose `METHOD /path` matches goes wrong; resolves when that call has come. */
  failNext(call: RegExp, fault: EngineFault): Promise<void>;
  /** Every call goes through after this many milliseconds; 0 ends it. */
  slowDown(ms: number): void;
  /** Ends the streams of all attached containers; the containers live on. */
  cutStreams(): void;
  /** Nothing more of what attached containers write comes through; their connections stay. */
  stallStreams(): void;
  /** Ends every connection and refuses new ones, as an engine that has stopped. */
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

const SLOW_MS = 700;
const HALF = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"Id":"0123';

/** A Unix socket in front of the real engine at `enginePath` that can be told to be a bad engine. */
export async function startEngineProxy(enginePath = '/var/run/docker.sock'): Promise<EngineProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'engine-proxy-'));
  const path = join(folder, 'engine.sock');
  const calls: string[] = [];
  const armed: { readonly call: RegExp; readonly fault: EngineFault; readonly met: () => void }[] = [];
  const sockets = new Set<Socket>();
  /** Both ends of attached streams. */
  const streams = new Set<readonly [Duplex, Duplex]>();
  const stalled = new Set<Duplex>();
  let slowMs = 0;

  const faultFor = (call: string): EngineFault | null => {
    const index = armed.findIndex((one) => one.call.test(call));
    const [found] = index < 0 ? [] : armed.splice(index, 1);
    found?.met();
    return found?.fault ?? null;
  };

  /** Sends a call on; null where the engine cannot be asked. */
  const forward = (
    incoming: IncomingMessage,
    answered: (reply: IncomingMessage, socket?: Duplex) => void,
  ) => {
    const { method, url, headers } = incoming;
    const outgoing = request({ socketPath: enginePath, method, path: url, headers, agent: false });
    outgoing.on('response', (reply) => answered(reply));
    outgoing.on('upgrade', (reply, socket) => answered(reply, socket));
    outgoing.on('error', () => incoming.socket.destroy());
    // A client that gives up takes its call with it, as it would without a proxy.
    const drop = (): void => void outgoing.destroy();
    incoming.socket.on('close', drop);
    outgoing.on('close', () => incoming.socket.off('close', drop));
    incoming.pipe(outgoing);
  };

  /** The faults that need no answer of the engine; true where the call is dealt with. */
  const misbehave = (fault: EngineFault | null, incoming: IncomingMessage): boolean => {
    const { socket } = incoming;
    switch (fault) {
      case 'silent':
        return true;
      case 'reset':
        socket.destroy();
        return true;
      case 'error': {
        const body = '{"message":"out of order"}';
        const head = `HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
        socket.end(`${head}\r\nConnection: close\r\n\r\n${body}`);
        return true;
      }
      case 'deaf':
        forward(incoming, (reply) => reply.resume());
        return true;
      case 'half':
        forward(incoming, (reply) => {
          reply.resume();
          socket.write(HALF, () => socket.destroy());
        });
        return true;
      default:
        return false;
    }
  };

  const take = async (incoming: IncomingMessage): Promise<boolean> => {
    const call = `${incoming.method} ${incoming.url?.split('?')[0]}`;
    calls.push(call);
    const fault = faultFor(call);
    if (misbehave(fault, incoming)) {
      return false;
    }
    await delay(fault === 'slow' ? SLOW_MS : slowMs);
    return !incoming.socket.destroyed;
  };

  const server = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
    void take(incoming).then((through) => {
      if (through) {
        forward(incoming, (reply) => {
          outgoing.writeHead(reply.statusCode ?? 500, reply.headers);
          outgoing.flushHeaders();
          reply.pipe(outgoing);
          reply.on('error', () => outgoing.destroy());
        });
      }
    });
  });
  server.on('upgrade', (incoming: IncomingMessage, client: Duplex) => {
    client.on('error', () => {});
    void take(incoming).then((through) => {
      if (!through) {
        return;
      }
      forward(incoming, (reply, engine) => {
        if (engine === undefined) {
          client.end(`HTTP/1.1 ${reply.statusCode} X\r\nContent-Length: 0\r\n\r\n`);
          return;
        }
        client.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
        const pair = [client, engine] as const;
        streams.add(pair);
        client.on('close', () => {
          streams.delete(pair);
          engine.destroy();
        });
        engine.on('error', () => {});
        engine.on('close', () => {
          if (!stalled.has(client)) {
            client.destroy();
          }
        });
        engine.pipe(client);
        client.pipe(engine);
      });
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  const up = () => new Promise<void>((resolve) => server.listen(path, () => resolve()));
  const down = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) {
      socket.destroy();
    }
    await closed;
  };
  await up();
  return {
    dockerHost: `unix://${path}`,
    calls,
    failNext: (call, fault) => new Promise((met) => armed.push({ call, fault, met })),
    slowDown: (ms) => {
      slowMs = ms;
    },
    cutStreams: () => {
      for (const [client] of streams) {
        client.destroy();
      }
    },
    stallStreams: () => {
      for (const [client, engine] of streams) {
        stalled.add(client);
        engine.unpipe(client);
        engine.resume();
      }
    },
    down,
    up,
    close: async () => {
      if (server.listening) {
        await down();
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
