import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { encodeFrame, TAG } from '../../../src/sandbox/wire.ts';
import { WireConnection } from '../../../src/sandbox/wire-connection.ts';
import { temporaryFolder } from '../../fakes/sandboxd.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) {
    cleanup();
  }
});

/** Both ends of a Unix socket: ours and a peer's that is written to by hand. */
async function pair(): Promise<{ ours: WireConnection; socket: Socket; peer: Socket }> {
  const folder = temporaryFolder();
  const path = join(folder.path, 's');
  const server = createServer({ allowHalfOpen: true });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const peer = connect({ path, allowHalfOpen: true });
  peer.on('error', () => {});
  const socket = await accepted;
  cleanups.push(() => {
    peer.destroy();
    socket.destroy();
    server.close();
    folder.remove();
  });
  return { ours: new WireConnection(socket), socket, peer };
}

const frame = (tag: number, text: string): Buffer => Buffer.concat(encodeFrame(tag, Buffer.from(text)));
const CODE = new Map([[TAG.code, 100]]);

test('frames that came together are given one by one, each judged by what is expected then', async () => {
  const { ours, peer } = await pair();
  peer.write(Buffer.concat([frame(TAG.code, 'a'), frame(TAG.data, 'b'), frame(TAG.code, 'c')]));
  expect(await ours.next(CODE, 5000)).toMatchObject({ tag: TAG.code, payload: Buffer.from('a') });
  expect(await ours.next(new Map([[TAG.data, 9]]), 5000)).toMatchObject({ tag: TAG.data });
  expect(await ours.next(new Map([[TAG.data, 9]]), 5000)).toEqual({ kind: 'garbled' });
});

test('a wait that ends by time or by signal can be taken up again in the middle of a frame', async () => {
  const { ours, peer } = await pair();
  const bytes = frame(TAG.code, 'whole');
  peer.write(bytes.subarray(0, 7));
  expect(await ours.next(CODE, 50)).toEqual({ kind: 'late' });
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  expect(await ours.next(CODE, null, stop.signal)).toEqual({ kind: 'aborted' });
  expect(await ours.next(CODE, null, stop.signal)).toEqual({ kind: 'aborted' });
  peer.write(bytes.subarray(7));
  expect(await ours.next(CODE, 5000)).toMatchObject({ payload: Buffer.from('whole') });
});

test('a frame that was complete before the end is given, and then the end', async () => {
  const { ours, peer } = await pair();
  peer.end(Buffer.concat([frame(TAG.code, 'a'), Buffer.from([TAG.code, 0, 0])]));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await ours.next(CODE, 5000)).toMatchObject({ payload: Buffer.from('a') });
  expect(await ours.next(CODE, 5000)).toEqual({ kind: 'ended' });
  expect(await ours.next(CODE, 5000)).toEqual({ kind: 'ended' });
});

test('what a peer sends while nobody asks stays with the peer', async () => {
  const { ours, socket, peer } = await pair();
  peer.write(frame(TAG.code, 'a'));
  await ours.next(CODE, 5000);
  for (let sent = 0; sent < 64; sent += 1) {
    peer.write(Buffer.alloc(1024 * 1024));
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(socket.bytesRead).toBeLessThan(2 * 1024 * 1024);
});

test('finishing waits for a peer who closes, and no longer than it may for one who does not', async () => {
  const polite = await pair();
  polite.peer.on('end', () => polite.peer.end());
  polite.peer.resume();
  polite.ours.send(encodeFrame(TAG.taken));
  await polite.ours.finish();
  const stubborn = await pair();
  await stubborn.ours.finish(50);
  expect(stubborn.socket.destroyed).toBe(true);
});

test('finishing takes what a peer is still sending, who then meets no error before it has read the last frame', async () => {
  const { ours, peer } = await pair();
  peer.pause();
  const written = new Promise<unknown>((resolve) => peer.write(Buffer.alloc(4 * 1024 * 1024), resolve));
  ours.send(encodeFrame(TAG.taken));
  const finished = ours.finish();
  expect(await written).toBeFalsy();
  const got = new Promise<Buffer>((resolve) => peer.once('data', resolve));
  peer.resume();
  expect(await got).toEqual(frame(TAG.taken, ''));
  peer.end();
  await finished;
});
