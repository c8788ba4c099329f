import type { IncomingMessage } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { asObject, parseJson } from './formats/format.ts';
import type { ModelFormat } from './port.ts';

/** One request as the scripted model received it. */
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
  readonly format: ModelFormat;
  /** The prompt's parts, whatever the format. */
  readonly system: string;
  readonly user: string;
  /** From 1; past that, `refusal` is what the model was last told of its function, else "". */
  readonly attempt: number;
  readonly refusal: string;
  readonly signature: 'absent' | 'valid' | 'invalid';
  /** How many requests came before this one. */
  readonly index: number;
}

interface Message {
  readonly role: string;
  readonly content: string;
}

/** Reads a request of any format; a body that is none of them has empty parts. */
export function readScriptedRequest(
  request: IncomingMessage,
  body: Buffer,
  secret: string | undefined,
  index: number,
): ScriptedRequest {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  const json = asObject(parseJson(body.toString('utf8'))) ?? {};
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers,
    rawHeaders: request.rawHeaders,
    body,
    json,
    ...promptOf(json),
    signature: verify(headers, body, secret),
    index,
  };
}

type Asked = Pick<ScriptedRequest, 'format' | 'system' | 'user' | 'attempt' | 'refusal'>;

function promptOf(json: Readonly<Record<string, unknown>>): Asked {
  if (!Array.isArray(json.messages)) {
    return {
      format: 'compute-step',
      system: text(json.system),
      user: text(json.user),
      attempt: typeof json.attempt === 'number' ? json.attempt : 1,
      refusal: text(asObject(json.refusal)?.text),
    };
  }
  const messages = json.messages.map((each): Message => {
    const message = asObject(each) ?? {};
    return { role: text(message.role), content: text(message.content) };
  });
  const turns = messages.filter(({ role }) => role === 'user');
  return {
    format: 'system' in json ? 'anthropic' : 'openai',
    system: messages.find(({ role }) => role === 'system')?.content ?? text(json.system),
    user: turns[0]?.content ?? '',
    attempt: Math.max(1, turns.length),
    refusal: turns.length > 1 ? (turns.at(-1)?.content ?? '') : '',
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
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
