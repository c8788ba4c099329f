import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FAILURES } from '../../contract/failure.ts';
import { PROBLEMS, problem } from '../../contract/problem.ts';
import { sendProblem } from '../errors.ts';

/** The folder of the page's files, beside this one in the sources and in dist. */
const FOLDER = new URL('../page/', import.meta.url);

const SCRIPT = 'text/javascript; charset=utf-8';
/** Every file of the page: nothing else of the folder is served. */
export const PAGE_FILES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'answer-panel.js': SCRIPT,
  'ask-form.js': SCRIPT,
  'code-lines.js': SCRIPT,
  'codes.js': SCRIPT,
  'elements.js': SCRIPT,
  'event-stream.js': SCRIPT,
  'example.js': SCRIPT,
  'function-panel.js': SCRIPT,
  'json-text.js': SCRIPT,
  'page.js': SCRIPT,
  'prompt-panel.js': SCRIPT,
  'quotas.js': SCRIPT,
  'request-body.js': SCRIPT,
  'service.js': SCRIPT,
  'sources.js': SCRIPT,
  'time-bar.js': SCRIPT,
  'waiting.js': SCRIPT,
};

/**
 * The page holds a key and data: it may load, call and be framed by nothing but itself, and its scripts cannot make
 * markup or code out of text (Trusted Types, with no policy allowed).
 */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // Small files that change with every version: asked for each time, sent only when they changed.
  'cache-control': 'no-cache',
} as const;

interface StaticFile {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
}

/** `GET /` and the files it needs: static, the same for everyone, read once. Needs no key and tells nothing. */
export async function pageRoutes(app: FastifyInstance): Promise<void> {
  const files = new Map<string, StaticFile>();
  for (const [name, type] of Object.entries(PAGE_FILES)) {
    files.set(name, staticFile(await readFile(new URL(name, FOLDER)), type));
  }
  files.set('codes.json', staticFile(Buffer.from(codeTables()), 'application/json; charset=utf-8'));

  const answer = (http: FastifyRequest, reply: FastifyReply, file: StaticFile | undefined): FastifyReply => {
    if (file === undefined) {
      return sendProblem(reply, problem('not_found', 'The page has no such file.'));
    }
    reply.headers({ ...HEADERS, etag: file.etag });
    return isHeld(http.headers['if-none-match'], file.etag)
      ? reply.code(304).send()
      : reply.header('content-type', file.type).send(file.body);
  };
  app.get('/', { schema: { hide: true } }, (http, reply) => answer(http, reply, files.get('index.html')));
  app.get<{ Params: { file: string } }>('/page/:file', { schema: { hide: true } }, (http, reply) =>
    answer(http, reply, files.get(http.params.file)),
  );
}

function staticFile(body: Buffer, type: string): StaticFile {
  return { body, type, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` };
}

/** If-None-Match of RFC 9110: a list of entity tags, compared weakly, or `*`. */
function isHeld(header: string | undefined, etag: string): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(etag) || tags.includes('*');
}

/** What each code means, from the tables that the service itself uses. */
function codeTables(): string {
  return JSON.stringify({
    failures: Object.entries(FAILURES).map(([code, { message, counts, retryable }]) => ({
      code,
      meaning: `${message} Counts: ${counts ? 'yes' : 'no'}.${again(retryable)}`,
    })),
    problems: Object.entries(PROBLEMS).map(([code, { status, title, retryable }]) => ({
      code,
      meaning: `HTTP ${status}. ${title}.${again(retryable)}`,
    })),
  });
}

function again(retryable: boolean): string {
  return retryable ? ' Trying again can help.' : '';
}
