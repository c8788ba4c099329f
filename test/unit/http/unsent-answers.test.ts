import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { finished } from 'node:stream/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closeUnsentAnswers } from '../../../src/http/unsent-answers.ts';

const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const POLL = { timeout: 15_000 };

let server: Server;
let answers: ServerResponse[];
let closed: number[];
beforeEach(async () => {
  answers = [];
  closed = [];
  server = createServer();
  closeUnsentAnswers(server);
  server.on('request', (_request, answer) => {
    const at = answers.push(answer) - 1;
    answer.on('close', () => closed.push(at));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function asked(times: number) {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {}).resume();
  socket.write(REQUEST.repeat(times));
  await expect.poll(() => answers.length, POLL).toBe(times);
  return socket;
}

describe('answers that wait for their turn on a connection', () => {
  it('are closed with it, each once, and are so for whoever looks later', async () => {
    const socket = await asked(3);
    socket.destroy();
    await expect.poll(() => closed.toSorted(), POLL).toEqual([0, 1, 2]);
    for (const answer of answers) {
      expect(answer.destroyed).toBe(true);
      await expect(finished(answer)).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
    }
  });

  it('are closed as well where an earlier answer ends the connection', async () => {
    await asked(2);
    answers[0]?.setHeader('connection', 'close').end();
    await expect.poll(() => closed.toSorted(), POLL).toEqual([0, 1]);
  });

  it('close once, when they are sent, where the connection stays', async () => {
    const socket = await asked(2);
    for (const answer of answers.toReversed()) answer.end();
    await expect.poll(() => closed, POLL).toEqual([0, 1]);
    socket.destroy();
    await new Promise((gone) => server.close(gone));
    expect(closed).toEqual([0, 1]);
  });
});
