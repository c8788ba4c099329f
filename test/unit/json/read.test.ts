import { afterEach, describe, expect, it } from 'vitest';
import { readBody } from '../../../src/json/body.ts';
import { type BodyReader, type BodyReaderOptions, createBodyReader } from '../../../src/json/read.ts';

const readers: BodyReader[] = [];

function reader(options: Partial<BodyReaderOptions> = {}): BodyReader {
  const made = createBodyReader({ maxDepth: 64, workerThresholdBytes: 1_000, ...options });
  readers.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(readers.splice(0).map((made) => made.close()));
});

const never = () => new AbortController().signal;

function large(records = 100): string {
  const result = Array.from({ length: records }, (_, index) => ({ id: index, name: `name ${index} é` }));
  return JSON.stringify({
    step: 'x',
    sources: [{ tool: 'a', result }, { result_json: JSON.stringify(result) }, { result_json: '[123]' }],
    ['__proto__']: { polluted: true },
  });
}

/** A thread that does something else than reading. */
function thread(code: string): URL {
  return new URL(
    `data:text/javascript,${encodeURIComponent(`import { parentPort } from 'node:worker_threads'; ${code}`)}`,
  );
}

describe('a body reader', () => {
  it('answers from a thread what reading at once answers', async () => {
    const text = large();
    const inThread = await reader().read(Buffer.from(text), never());
    const atOnce = await reader({ workerThresholdBytes: 1e9 }).read(Buffer.from(text), never());
    expect(inThread).toEqual(readBody(Buffer.from(text), { maxDepth: 64 }));
    expect(atOnce).toEqual(inThread);
    expect(inThread.kind === 'body' && Object.keys(inThread.envelope as object)).toContain('__proto__');
  });

  it('answers faults from a thread', async () => {
    const text = `${large().slice(0, -1)},"a":NaN}`;
    expect(await reader().read(Buffer.from(text), never())).toMatchObject({
      kind: 'fault',
      code: 'not_finite',
    });
  });

  it('passes its bounds on to the thread', async () => {
    const bounded = reader({ maxDepth: 1, maxSources: 1, maxEnvelopeBytes: 10 });
    const [deep, many, wide] = await Promise.all([
      bounded.read(Buffer.from(large()), never()),
      bounded.read(Buffer.from(`{"sources":[{"result":1},{"result":${'1'.repeat(1_000)}}]}`), never()),
      bounded.read(Buffer.from(`{"step":"${'x'.repeat(1_000)}"}`), never()),
    ]);
    expect([deep, many, wide].map((read) => read.kind === 'fault' && read.code)).toEqual([
      'too_deep',
      'too_many_sources',
      'envelope_too_large',
    ]);
  });

  it('moves the memory of a large body and leaves that of a pool where it is', async () => {
    const text = large();
    const own = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
    own.write(text);
    const pool = Buffer.from(`before${text}after`);
    const slice = pool.subarray(6, 6 + Buffer.byteLength(text));
    const one = reader();
    const [fromOwn, fromSlice] = [await one.read(own, never()), await one.read(slice, never())];
    expect(own.length).toBe(0);
    expect(pool.toString()).toBe(`before${text}after`);
    expect(fromSlice).toEqual(fromOwn);
  });

  it('reads many large bodies at once, each for itself', async () => {
    const one = reader();
    const reads = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        one.read(Buffer.from(JSON.stringify({ index, sources: [{ result: 'x'.repeat(2_000) }] })), never()),
      ),
    );
    expect(reads.map((read) => read.kind === 'body' && (read.envelope as { index: number }).index)).toEqual(
      Array.from({ length: 12 }, (_, index) => index),
    );
  });

  it('answers overloaded when its queue is full, and forgets callers who give up', async () => {
    const stuck = reader({
      workerUrl: thread(`parentPort.on('message', () => {});`),
      maxWorkers: 1,
      maxQueued: 1,
    });
    const body = () => Buffer.from(large());
    const given = new AbortController();
    const reading = stuck.read(body(), given.signal);
    const waiting = stuck.read(body(), given.signal);
    expect(await stuck.read(body(), never())).toMatchObject({ kind: 'problem', code: 'overloaded' });
    const reason = new Error('The caller hung up.');
    given.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await expect(waiting).rejects.toBe(reason);
    // The place in the queue is free again.
    const late = expect(stuck.read(body(), never())).rejects.toThrow('closed');
    await stuck.close();
    await late;
  });

  it('rejects when its thread crashes, and reads the next body with a fresh one', async () => {
    // Crashes on bodies of odd length.
    const crashing = reader({
      maxWorkers: 1,
      workerUrl: thread(`parentPort.on('message', ({ body }) => {
        if (body.byteLength % 2 === 1) process.exit(7);
        parentPort.postMessage({ kind: 'body', body, envelope: 'read', sources: [] }, [body]);
      });`),
    });
    const odd = crashing.read(Buffer.alloc(1_001, ' '), never());
    const even = crashing.read(Buffer.alloc(1_002, ' '), never());
    await expect(odd).rejects.toThrow('ended before it answered');
    expect(await even).toMatchObject({ envelope: 'read' });
  });

  it('ends a thread that does not answer in time, and goes on', async () => {
    const slow = reader({
      maxWorkers: 1,
      jobTimeoutMs: 1_500,
      workerUrl: thread(`parentPort.on('message', ({ body }) => {
        if (body.byteLength % 2 === 1) for (;;);
        parentPort.postMessage({ kind: 'body', body, envelope: 'read', sources: [] }, [body]);
      });`),
    });
    const odd = slow.read(Buffer.alloc(1_001, ' '), never());
    const even = slow.read(Buffer.alloc(1_002, ' '), never());
    await expect(odd).rejects.toThrow('ended before it answered');
    expect(await even).toMatchObject({ envelope: 'read' });
  });

  it('reads nothing for a caller who is gone, nor after it was closed', async () => {
    const one = reader();
    await expect(one.read(Buffer.from('{}'), AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    await one.close();
    await expect(one.read(Buffer.from('{}'), never())).rejects.toThrow('closed');
  });
});
