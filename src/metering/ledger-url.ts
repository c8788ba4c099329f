/** What LEDGER_URL points at, or what is wrong with it (`detail` names the fix). */
export type LedgerLocation =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'invalid'; readonly detail: string };

/**
 * Reads LEDGER_URL. `sqlite:<path>`: a file on a local disk, relative to the working directory. An in-memory
 * ledger is refused, because a ledger that a restart empties would give every tenant a fresh quota.
 */
export function parseLedgerUrl(url: string): LedgerLocation {
  const path = /^sqlite:(?:\/\/(?=\/))?(.*)$/s.exec(url)?.[1];
  if (path === undefined) {
    return { kind: 'invalid', detail: 'LEDGER_URL must be sqlite:<path>, such as sqlite:./data/ledger.db' };
  }
  if (path === '' || path.includes(':memory:') || path.includes('\0')) {
    return { kind: 'invalid', detail: 'LEDGER_URL must name a file after sqlite:' };
  }
  return { kind: 'sqlite', path };
}
