import { describe, expect, it } from 'vitest';
import { eventText } from '../../../../src/http/sse.ts';

const { eventsOf } = (await import(
  new URL('../../../../src/http/page/event-stream.js', import.meta.url).href
)) as { eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<{ event: string; data: string }> };

/** A stream that brings the text in pieces of so many bytes, and tells whether it was cancelled. */
function streamOf(
  text: string,
  size: number,
): { body: ReadableStream<Uint8Array>; cancelled: () => boolean } {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (at >= bytes.length) {
        controller.close();
        return;
      }
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
    cancel: () => {
      cancelled = true;
    },
  });
  return { body, cancelled: () => cancelled };
}

async function all(body: ReadableStream<Uint8Array>): Promise<{ event: string; data: string }[]> {
  const events = [];
  for await (const event of eventsOf(body)) {
    events.push(event);
  }
  return events;
}

describe('the events that the page reads', () => {
  const result = '{"result":9007199254740993,\n"é":"😀"}';
  const text = `:\n\n${eventText('prompt', '{}')}:\n\n${eventText('computation', result)}`;

  it.each([1, 2, 7, 10_000])('are those that the service writes, in pieces of %i bytes', async (size) => {
    const events = await all(streamOf(text, size).body);
    expect(events).toEqual([
      { event: 'prompt', data: '{}' },
      { event: 'computation', data: result },
    ]);
  });

  it('do not hold one that was cut off', async () => {
    const events = await all(streamOf(text.slice(0, -1), 5).body);
    expect(events.map(({ event }) => event)).toEqual(['prompt']);
  });

  it('let the connection go when nobody reads on', async () => {
    const { body, cancelled } = streamOf(text, 5);
    for await (const { event } of eventsOf(body)) {
      expect(event).toBe('prompt');
      break;
    }
    expect(cancelled()).toBe(true);
  });
});
