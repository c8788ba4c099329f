import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { modelAnswer, modelRefusal, type ScriptedAnswer } from './scripted-answer.ts';
import { readScriptedRequest, type ScriptedRequest } from './scripted-request.ts';

export interface ScriptedModelOptions {
  readonly answer: (request: ScriptedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>;
  /** Told of every request, before it is answered. */
  readonly received?: (request: ScriptedRequest) => void;
  /** Checks signatures with it; a request whose signature is absent or wrong is answered 401. */
  readonly signingSecret?: string;
  readonly host?: string;
  /** 0, or left out: a free one. */
  readonly port?: number;
}

export interface ScriptedModel {
  /** Where to post. */
  readonly url: string;
  /** `host:port`, for an allowlist. */
  readonly hostPort: string;
  /** What was received, in order; of more than MAX_REQUESTS the latest. */
  readonly requests: readonly ScriptedRequest[];
  close(): Promise<void>;
}

/** Requests kept, oldest dropped: enough for a soak, bounded for a model that keeps running. */
const MAX_REQUESTS = 10_000;
/** A larger body is cut off with its connection: no prompt is near it. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

/**
 * A model webhook over real HTTP that answers from a script, in whichever format it is asked, and keeps what it
 * received, byte for byte. For offline tests of a plan, the demo and the service's own tests: it thinks nothing.
 */
export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const requests: ScriptedRequest[] = [];
  let count = 0;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const received = readScriptedRequest(request, body, options.signingSecret, count);
    count += 1;
    requests.push(received);
    if (requests.length > MAX_REQUESTS) requests.shift();
    options.received?.(received);
    if (options.signingSecret !== undefined && received.signature !== 'valid') {
      response.writeHead(401).end();
      return;
    }
    const given = await options.answer(received);
    const answer = typeof given === 'string' ? { text: given } : given;
    if ('hang' in answer) return;
    if ('reset' in answer) request.socket.destroy();
    else if ('handle' in answer) answer.handle(response, request);
    else {
      if (answer.delayMs !== undefined) await new Promise((done) => setTimeout(done, answer.delayMs));
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
      response.end(bodyOf(answer, received));
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((done, failed) => {
    server.once('error', failed).listen(options.port ?? 0, host, done);
  });
  const { port } = server.address() as AddressInfo;
  const hostPort = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return {
    url: `http://${hostPort}/write`,
    hostPort,
    requests,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function bodyOf(
  {
    body,
    text,
    refusal,
  }: { readonly body?: string | Buffer; readonly text?: string; readonly refusal?: string },
  { format }: ScriptedRequest,
): string | Buffer {
  if (body !== undefined) return body;
  if (refusal !== undefined) return modelRefusal(format, refusal);
  return text === undefined ? '' : modelAnswer(format, text);
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BODY_BYTES) throw new Error('the body is larger than the script takes');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
