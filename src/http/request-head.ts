import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Problem, problem } from '../contract/problem.ts';

/** Why a body in this form is not taken, from its headers; null: it is plain UTF-8 as far as they say. */
export function bodyFormProblem(headers: IncomingHttpHeaders): Problem | null {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') {
    return problem('unsupported_media_type', 'Send the body as it is, without content-encoding.');
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase();
  return charset === undefined || charset === 'utf-8' || charset === 'utf8'
    ? null
    : problem('unsupported_media_type', 'Send the body in UTF-8, which needs no charset.');
}

/** Why a request does not say whom it is for (RFC 9112, 3.2): one Host is wanted, from HTTP/1.1 on. Null: it does. */
export function hostProblem({ rawHeaders, httpVersion }: IncomingMessage): Problem | null {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
    ? null
    : problem('invalid_request', 'Send one Host header field.');
}

/** Why its target is none of its method's (RFC 9112, 3.2.4): `*` is of OPTIONS alone, where the router takes it for `/`. */
export function targetProblem({ url, method }: IncomingMessage): Problem | null {
  return url === '*' && method !== 'OPTIONS'
    ? problem('invalid_request', 'The request target * is for OPTIONS only; send a path.')
    : null;
}
