import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** One request as the webhook received it. */
export interface ScriptedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values alternating, exactly as they came. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly json: Readonly<Record<string, unknown>>;
  /** Told by the shape of the body. */
  readonly format: 'compute-step' | 'openai' | 'anthropic';
  /** The prompt's parts, whatever the format. */
  readonly system: string;
  readonly user: string;
  readonly signature: 'absent' | 'valid' | 'invalid';
  /** How many requests came before this one. */
  readonly index: number;
}

/**
 * What the webhook answers: the model's text (put into the request's format), or an HTTP answer of any kind, or
 * silence (`hang`), or a closed connection (`reset`). `delayMs` waits first.
 */
export type ScriptedAnswer =
  | string
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Sent as it is; a string of the model is put into the format with `text` instead. */
      readonly body?: string | Buffer;
      readonly text?: string;
      readonly delayMs?: number;
    }
  | { readonly hang: true }
  | { readonly reset: true }
  /** Writes the answer by hand: drips, lies, never ends. */
  | { readonly handle: (response: ServerResponse, request: IncomingMessage) => void };

export interface ScriptedModelOptions {
  readonly answer: (request: ScriptedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>;
  /** Checks signatures with it; a request whose signature is absent or wrong is answered 401. */
  readonly signingSecret?: string;
  readonly host?: string;
  readonly port?: number;
}

export interface ScriptedModel {
  /** Where to post. */
  readonly url: string;
  /** `host:port`, for an allowlist. */
  readonly hostPort: string;
  readonly requests: readonly ScriptedRequest[];
  close(): Promise<void>;
}

/** Requests kept, oldest dropped: enough for a soak, bounded for a demo that keeps running. */
const MAX_REQUESTS = 10_000;
const MAX_BODY_BYTES = 8 * 1024 * 1024;

/**
 * A model webhook over real HTTP on loopback that answers from a script and keeps what it received, byte for
 * byte.
 */
export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const requests: ScriptedRequest[] = [];
  let count = 0;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = readRequest(request, await readBody(request), options.signingSecret, count);
    count += 1;
    requests.push(received);
    if (requests.length > MAX_REQUESTS) requests.shift();
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
      const body =
        answer.body ?? (answer.text === undefined ? '' : modelAnswer(received.format, answer.text));
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
      response.end(body);
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((done, failed) => {
    server.once('error', failed).listen(options.port ?? 0, options.host ?? '127.0.0.1', done);
  });
  const hostPort = `${options.host ?? '127.0.0.1'}:${(server.address() as AddressInfo).port}`;
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

/** A script that answers by what the task says: the first key that the user part contains gives the text. */
export function answersByTask(
  texts: Readonly<Record<string, string>>,
): (request: ScriptedRequest) => ScriptedAnswer {
  return ({ user }) => {
    const key = Object.keys(texts).find((part) => user.includes(part));
    return key === undefined ? { status: 404 } : (texts[key] ?? '');
  };
}

/** A script that gives one answer after the other, the last one from then on. */
export function answersInTurn(...answers: readonly ScriptedAnswer[]): () => ScriptedAnswer {
  let turn = 0;
  return () => {
    const answer = answers[Math.min(turn, answers.length - 1)];
    turn += 1;
    return answer ?? { status: 500 };
  };
}

/** The body in which a model of this format gives its text. */
export function modelAnswer(format: ScriptedRequest['format'], text: string): string {
  if (format === 'openai') {
    return JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    });
  }
  if (format === 'anthropic') {
    return JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
    });
  }
  return JSON.stringify({ code: text });
}

function readRequest(
  request: IncomingMessage,
  body: Buffer,
  secret: string | undefined,
  index: number,
): ScriptedRequest {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  const json = parseObject(body);
  const messages = (Array.isArray(json.messages) ? json.messages : []) as { role: string; content: string }[];
  const message = (role: string) => messages.find((each) => each.role === role)?.content;
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers,
    rawHeaders: request.rawHeaders,
    body,
    json,
    format: !Array.isArray(json.messages) ? 'compute-step' : 'system' in json ? 'anthropic' : 'openai',
    system: message('system') ?? String(json.system ?? ''),
    user: message('user') ?? String(json.user ?? ''),
    signature: verify(headers, body, secret),
    index,
  };
}

function verify(
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  secret: string | undefined,
): ScriptedRequest['signature'] {
  if (headers['webhook-signature'] === undefined) return 'absent';
  try {
    new Webhook(secret ?? '').verify(body, { ...headers });
    return 'valid';
  } catch {
    return 'invalid';
  }
}

function parseObject(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(body.toString('utf8')) as Record<string, unknown>;
  } catch {
    return {};
  }
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
