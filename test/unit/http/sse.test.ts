import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { HTTP_LIMITS } from '../../../src/http/limits.ts';
import { EVENT_STREAM_BOUNDS, type EventStream, eventText, openEventStream } from '../../../src/http/sse.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** An event stream over a real socket. */
async function streamed(bounds: Partial<typeof EVENT_STREAM_BOUNDS> = {}) {
  let opened: (value: { stream: EventStream; raw: ServerResponse }) => void = () => {};
  const open = new Promise<{ stream: EventStream; raw: ServerResponse }>((resolve) => {
    opened = resolve;
  });
  const server = createServer((_request, raw) => {
    const stream = openEventStream(raw, { 'x-more': 'yes' }, { ...EVENT_STREAM_BOUNDS, ...bounds });
    opened({ stream, raw });
  });
  // As the service's own listener is: a client that ends its side is not cut off.
  (server as Server & { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const client: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  closing.push(() => {
    client.destroy();
    server.close();
    server.closeAllConnections();
  });
  let text = '';
  client.setEncoding('utf8');
  client.on('error', () => {});
  client.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
  return {
    ...(await open),
    client,
    text: () => text,
    read: () => client.on('data', (chunk) => (text += chunk)),
  };
}

describe('an event', () => {
  it.each([
    ['one line', '{"a":1}', 'event: e\ndata: {"a":1}\n\n'],
    ['nothing', '', 'event: e\ndata: \n\n'],
    ['line ends of every kind', '[1,\n2,\r\n3,\r4]', 'event: e\ndata: [1,\ndata: 2,\ndata: 3,\ndata: 4]\n\n'],
    [
      'a line that looks like a field',
      'x\nevent: y\n\nid: 1',
      'event: e\ndata: x\ndata: event: y\ndata: \ndata: id: 1\n\n',
    ],
    ['a separator of lines that is none here', 'a\u2028b', 'event: e\ndata: a\u2028b\n\n'],
  ])('holds %s in lines of data', (_what, data, text) => {
    expect(eventText('e', data)).toBe(text);
  });
});

describe('a stream of events', () => {
  it('has its head at once, then its events, and ends with the last', async () => {
    const { stream, text, read, client } = await streamed();
    read();
    const closed = new Promise((resolve) => client.once('close', resolve));
    stream.send('one', '1');
    await expect.poll(text, { timeout: 10_000 }).toContain('event: one');
    stream.end('two', '2');
    stream.send('late', '3');
    stream.end('later', '4');
    await closed;
    expect(text()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text()).toContain('x-more: yes\r\n');
    expect(text()).toContain('content-type: text/event-stream; charset=utf-8\r\n');
    expect(text()).toContain('cache-control: no-store\r\n');
    expect(text()).toContain('x-accel-buffering: no\r\n');
    expect(text()).toContain('event: two\ndata: 2\n\n');
    expect(text()).not.toContain('late');
  });

  it('has a comment now and then, as long as it goes on', async () => {
    const { stream, text, read, client } = await streamed({ heartbeatMs: 10 });
    read();
    await expect.poll(() => text().split('\r\n:\n\n').length, { timeout: 10_000 }).toBeGreaterThan(3);
    const closed = new Promise((resolve) => client.once('close', resolve));
    stream.end('end', '');
    await closed;
    expect(text()).toMatch(/event: end\ndata: \n\n\r\n0\r\n\r\n$/);
  });

  it('cuts off a client that does not read, at the bound', async () => {
    const { stream, raw, client } = await streamed({ unreadMaxBytes: 100_000 });
    client.pause();
    let sent = 0;
    while (!raw.destroyed && sent < 100_000_000) {
      stream.send('much', 'x'.repeat(10_000));
      sent += 10_000;
      await new Promise((resolve) => setImmediate(resolve));
    }
    // What the system took for itself and the bound: not all that there was to say.
    expect(raw.destroyed).toBe(true);
    expect(sent).toBeLessThan(100_000_000);
  });

  it('does not hold the size of the last event against its client', async () => {
    const { stream, read, text } = await streamed({ unreadMaxBytes: 100 });
    stream.end('end', 'x'.repeat(1_000_000));
    read();
    await expect.poll(() => text().length, { timeout: 10_000 }).toBeGreaterThan(1_000_000);
  });

  it('cuts off a client that takes nothing of the last event', async () => {
    const { stream, raw, client } = await streamed({ lastEventMs: 50 });
    client.pause();
    stream.end('end', 'x'.repeat(50_000_000));
    await expect.poll(() => raw.destroyed, { timeout: 20_000 }).toBe(true);
  });

  it('does so after the time that a JSON answer has, which the operator is told', () => {
    const { answerStallMs } = HTTP_LIMITS;
    expect(EVENT_STREAM_BOUNDS.lastEventMs).toBe(answerStallMs);
    // Node closes at the second look that finds no change, of which there is one every `answerStallMs`.
    const [soonest, latest] = [answerStallMs / 1000, (2 * answerStallMs) / 1000];
    const page = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
    expect(page('operations.md')).toContain(`between ${soonest} s and ${latest} s after the last byte`);
    expect(page('observability.md')).toContain(`of the last event for ${soonest} s to ${latest} s`);
  });

  it('leaves the time that its last event may wait to no later answer on the connection', async () => {
    const server = createServer((request, raw) => {
      if (request.url === '/later') {
        setTimeout(() => raw.end('later'), 1500);
      } else {
        openEventStream(raw, {}, { ...EVENT_STREAM_BOUNDS, lastEventMs: 500 }).end('end', '');
      }
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    closing.push(() => {
      client.destroy();
      server.close();
    });
    let text = '';
    client.on('data', (chunk) => (text += chunk));
    const closed = new Promise((resolve) => client.once('close', resolve));
    client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    client.write('GET /later HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    await closed;
    expect(text).toMatch(/event: end.*later/s);
  });

  it('looks at once whether a client that ended its side still reads', async () => {
    const { raw, client, text, read } = await streamed();
    read();
    client.end();
    await expect.poll(text, { timeout: 10_000 }).toContain(':\n\n');
    expect(raw.destroyed).toBe(false);
  });

  it('writes nothing to a client that is gone, and beats no longer', async () => {
    const { stream, raw, client } = await streamed({ heartbeatMs: 5 });
    const closed = new Promise((resolve) => raw.once('close', resolve));
    client.destroy();
    await closed;
    const written = raw.writableLength;
    stream.send('one', '1');
    stream.end('two', '2');
    expect(raw.writableLength).toBe(written);
    expect(raw.writableEnded).toBe(false);
  });
});
