/** What LEDGER_URL points at, or what is wrong with it (`detail` names the fix, and nothing of the URL). */
export type LedgerLocation =
  | { readonly kind: 'sqlite'; readonly path: string }
  /** With user and password: never to be shown. */
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'invalid'; readonly detail: string };

const FIX =
  'LEDGER_URL must be sqlite:<file>, such as sqlite:./data/ledger.db, or postgres://user:password@host/database';

/**
 * Reads LEDGER_URL. `sqlite:<path>`: a file on a local disk, relative to the working directory. An in-memory
 * ledger is refused, because a ledger that a restart empties would give every tenant a fresh quota.
 * `postgres://…` or `postgresql://…`: a database that several replicas share.
 */
export function parseLedgerUrl(url: string): LedgerLocation {
  if (/^postgres(ql)?:\/\//.test(url)) {
    return namesDatabase(url) ? { kind: 'postgres', url } : { kind: 'invalid', detail: NO_DATABASE };
  }
  const path = /^sqlite:(?:\/\/(?=\/))?(.*)$/s.exec(url)?.[1];
  if (path === undefined) return { kind: 'invalid', detail: FIX };
  if (path === '' || path.includes(':memory:') || path.includes('\0')) {
    return { kind: 'invalid', detail: 'LEDGER_URL must name a file after sqlite:' };
  }
  return { kind: 'sqlite', path };
}

const NO_DATABASE =
  'LEDGER_URL must be a valid URL that names a database, such as postgres://user:password@host/database; ' +
  'characters such as @ / # in a password are written %40 %2F %23';

/** A database left out would be the one named like the user: a ledger by accident. */
function namesDatabase(url: string): boolean {
  // `user@/db?host=/run/postgresql`, a Unix socket, is no URL to the parser but for the host.
  return URL.canParse(url.replace('@/', '@localhost/')) && /^[^:]+:\/\/[^/?#]*\/[^/?#]+/.test(url);
}
