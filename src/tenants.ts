import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { faultChecker } from './contract/faults.ts';
import { type Tenant, type TenantsFile, TenantsFileSchema } from './contract/tenant.ts';
import type { ModelConfig } from './model/choose.ts';

const check = faultChecker(TenantsFileSchema);

/** Every fault of a tenants file, each with its field. Never holds a key or a secret. */
export interface TenantsFaults {
  readonly kind: 'faults';
  readonly faults: readonly string[];
}

/** The tenants in force. A change of the file acts on the next request; a bad file leaves the old one in force. */
export interface Tenants {
  /** The tenant that a bearer key names, or null. Takes the same work for every key. */
  find(key: string): Tenant | null;
  list(): readonly Tenant[];
  /** Reads the file again; answers the faults it was refused for, if any. */
  reload(): TenantsFaults | null;
  close(): void;
}

/** Who watches the tenants file. */
export interface TenantsEvents {
  /** What is wrong with the tenant's own model, if it has one. */
  readonly modelFaults: (tenant: Tenant) => readonly string[];
  readonly loaded: (tenants: readonly Tenant[]) => void;
  /** A new file was refused; the old one stays in force. */
  readonly refused: (faults: TenantsFaults) => void;
}

/** Reads and validates a tenants file: shape, unique ids, no key used twice, usable models. */
function readTenants(path: string, events: TenantsEvents): TenantsFile | TenantsFaults {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const what =
      error instanceof SyntaxError
        ? 'is not valid JSON'
        : `cannot be read (${code}): check the path and its permissions`;
    return { kind: 'faults', faults: [`TENANTS_FILE ${what}`] };
  }
  const faults = check(document, 100).map(
    ({ field, fix }) => `TENANTS_FILE: ${field || 'the document'} ${fix}`,
  );
  if (faults.length > 0) {
    return { kind: 'faults', faults };
  }
  const file = document as TenantsFile;
  const twice = [...repeated(file.tenants.map((tenant) => tenant.id))].map(
    (id) => `TENANTS_FILE: id ${id} stands twice`,
  );
  if (repeated(file.tenants.flatMap((tenant) => tenant.key_sha256)).size > 0) {
    twice.push('TENANTS_FILE: a key_sha256 stands twice; every key names one tenant');
  }
  const all = [
    ...twice,
    ...file.tenants.flatMap(events.modelFaults).map((fault) => `TENANTS_FILE: ${fault}`),
  ];
  return all.length > 0 ? { kind: 'faults', faults: all } : file;
}

function repeated(names: readonly string[]): Set<string> {
  const seen = new Set<string>();
  return new Set(names.filter((name) => seen.size === seen.add(name).size));
}

/** Opens a tenants file and follows its changes: looked at every two seconds, and on `reload`. */
export function openTenants(path: string, events: TenantsEvents): Tenants | TenantsFaults {
  // Before the file is read: a change behind it is seen, however soon it comes.
  const seen = signatureNow(path);
  const first = readTenants(path, events);
  if ('kind' in first) {
    return first;
  }
  let file = first;
  let keys = keyRing(first);
  events.loaded(first.tenants);
  const reload = (): TenantsFaults | null => {
    const next = readTenants(path, events);
    if ('kind' in next) {
      events.refused(next);
      return next;
    }
    file = next;
    keys = keyRing(next);
    events.loaded(next.tenants);
    return null;
  };
  const watch = onChange(path, seen, reload);
  return {
    find: (key) => findKey(keys, key),
    list: () => file.tenants,
    reload,
    close: () => clearInterval(watch),
  };
}

const LOOK_EVERY_MS = 2000;

/**
 * Calls `changed` when the file is another than `seen`. Looking at it sees what inotify misses: files replaced by
 * rename, bind mounts and mounted secrets. One look at a time; a file that is away for a moment is no change.
 */
function onChange(path: string, seen: string, changed: () => void): NodeJS.Timeout {
  let last = seen;
  let looking = false;
  return setInterval(async () => {
    if (looking) {
      return;
    }
    looking = true;
    try {
      const now = signature(await stat(path, { bigint: true }));
      if (now !== last) {
        last = now;
        changed();
      }
    } catch {
      // Being replaced, or gone: what was read stays in force.
    } finally {
      looking = false;
    }
  }, LOOK_EVERY_MS).unref();
}

function signatureNow(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? '' : signature(found);
}

function signature({ mtimeNs, size, ino }: { mtimeNs: bigint; size: bigint; ino: bigint }): string {
  return `${mtimeNs} ${size} ${ino}`;
}

interface HeldKey {
  readonly digest: Buffer;
  readonly tenant: Tenant;
}

function keyRing(file: TenantsFile): readonly HeldKey[] {
  return file.tenants.flatMap((tenant) =>
    tenant.key_sha256.map((digest) => ({ digest: Buffer.from(digest, 'hex'), tenant })),
  );
}

/** Compares with every digest, whatever matches: time tells nothing about which key was near. */
function findKey(keys: readonly HeldKey[], key: string): Tenant | null {
  const digest = createHash('sha256').update(key).digest();
  let found: Tenant | null = null;
  for (const held of keys) {
    if (timingSafeEqual(held.digest, digest)) {
      found = held.tenant;
    }
  }
  return found;
}

/** A tenant's own model as `chooseTarget` takes it, or null. */
export function tenantModel(tenant: Tenant): ModelConfig | null {
  const { model } = tenant;
  if (model === undefined) {
    return null;
  }
  const { signing_secret: signingSecret, ...rest } = model;
  return { ...rest, ...(signingSecret === undefined ? {} : { signingSecret }) };
}

/** A new API key (256 random bits, shown once) and the tenants-file entry that knows only its SHA-256. */
export function createKey(
  id: string,
  runs: number | null,
  seconds: number | null,
): { key: string; entry: Tenant } {
  const key = `cs_${randomBytes(32).toString('base64url')}`;
  return {
    key,
    entry: {
      id,
      key_sha256: [createHash('sha256').update(key).digest('hex')],
      quotas: { compute_runs: runs, compute_seconds: seconds },
    },
  };
}
