import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createKey, openTenants, type Tenants, type TenantsFaults } from '../../src/tenants.ts';

let folder: string;
let file: string;
const open: Tenants[] = [];
const refused: TenantsFaults[] = [];
let loads = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'compute-step-tenants-'));
  file = join(folder, 'tenants.json');
  refused.length = 0;
  loads = 0;
});
afterEach(() => {
  for (const tenants of open.splice(0)) {
    tenants.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

function write(document: unknown): void {
  writeFileSync(file, JSON.stringify(document));
}

function opened(): Tenants | TenantsFaults {
  const tenants = openTenants(file, {
    modelFaults: (tenant) => (tenant.model?.url === 'bad' ? ['model.url is bad'] : []),
    loaded: () => {
      loads += 1;
    },
    refused: (faults) => refused.push(faults),
  });
  if (!('kind' in tenants)) {
    open.push(tenants);
  }
  return tenants;
}

function good(): Tenants {
  const tenants = opened();
  if ('kind' in tenants) {
    throw new Error(tenants.faults.join('; '));
  }
  return tenants;
}

function faultsOf(document: unknown): readonly string[] {
  write(document);
  const tenants = opened();
  return 'kind' in tenants ? tenants.faults : [];
}

describe('tenants', () => {
  it('are found by either of two keys, and by nothing else', () => {
    const [first, second] = [createKey('acme', 1, 1), createKey('acme', 1, 1)];
    const other = createKey('other', null, null);
    write({
      tenants: [
        { ...first.entry, key_sha256: [...first.entry.key_sha256, ...second.entry.key_sha256] },
        other.entry,
      ],
    });
    const tenants = good();
    expect(tenants.find(first.key)?.id).toBe('acme');
    expect(tenants.find(second.key)?.id).toBe('acme');
    expect(tenants.find(other.key)?.id).toBe('other');
    expect(tenants.find('')).toBeNull();
    expect(tenants.find(first.entry.key_sha256[0] ?? '')).toBeNull();
    expect(tenants.find(`${first.key} `)).toBeNull();
  });

  it('follow the file: a removed tenant’s key stops working, a bad file is refused and the old one stays', () => {
    const [first, second] = [createKey('acme', 1, 1), createKey('beta', 1, 1)];
    write({ tenants: [first.entry, second.entry] });
    const tenants = good();
    write({ tenants: [second.entry] });
    expect(tenants.reload()).toBeNull();
    expect(tenants.find(first.key)).toBeNull();
    expect(tenants.find(second.key)?.id).toBe('beta');
    expect(loads).toBe(2);
    writeFileSync(file, '{ not json');
    expect(tenants.reload()?.faults).toEqual(['TENANTS_FILE is not valid JSON']);
    expect(refused).toHaveLength(1);
    expect(tenants.find(second.key)?.id).toBe('beta');
    expect(tenants.list().map(({ id }) => id)).toEqual(['beta']);
  });

  it('see a file that was replaced, by themselves', async () => {
    const [first, second] = [createKey('acme', 1, 1), createKey('beta', 1, 1)];
    write({ tenants: [first.entry] });
    const tenants = good();
    write({ tenants: [first.entry, second.entry] });
    await expect.poll(() => tenants.find(second.key)?.id, { timeout: 15_000 }).toBe('beta');
  });

  it('have every fault of their file named at once, without keys', () => {
    const { entry } = createKey('acme', 1, 1);
    const faults = faultsOf({
      tenants: [
        { id: 'Bad Id', key_sha256: ['nothex'], quotas: { compute_runs: -1, compute_seconds: 1.5 } },
        { ...entry, key_sha256: [], extra: true },
        { id: 'c' },
      ],
    });
    for (const field of [
      'tenants[0].id',
      'tenants[0].key_sha256[0]',
      'tenants[0].quotas.compute_runs',
      'tenants[0].quotas.compute_seconds',
      'tenants[1].key_sha256',
      'tenants[1].<member>',
      'tenants[2].key_sha256',
      'tenants[2].quotas',
    ]) {
      expect(
        faults.some((fault) => fault.includes(`${field} `)),
        field,
      ).toBe(true);
    }
    expect(faults.join()).not.toContain('nothex');
  });

  it('may have a use of the function cache of their own, one of three', () => {
    const tenant = (cache: string) => ({ tenants: [{ ...createKey('acme', 1, 1).entry, cache }] });
    for (const cache of ['off', 'use', 'refresh']) {
      expect(faultsOf(tenant(cache))).toEqual([]);
    }
    expect(faultsOf(tenant('always')).join()).toContain(
      'tenants[0].cache must be "off" or "use" or "refresh"',
    );
  });

  it('need every quota said: absent is a fault, null is unlimited', () => {
    const { entry } = createKey('acme', null, null);
    expect(faultsOf({ tenants: [entry] })).toEqual([]);
    expect(faultsOf({ tenants: [{ ...entry, quotas: { compute_runs: 1 } }] })[0]).toContain(
      'quotas.compute_seconds is required',
    );
  });

  it('are named once, each key once, with usable models', () => {
    const { entry } = createKey('acme', 1, 1);
    const faults = faultsOf({ tenants: [entry, { ...entry, model: { url: 'bad' } }] }).join('\n');
    expect(faults).toContain('id acme stands twice');
    expect(faults).toContain('key_sha256 stands twice');
    expect(faults).toContain('model.url is bad');
    expect(faults).not.toContain(entry.key_sha256[0]);
  });
});

describe('a new key', () => {
  it('has 256 random bits, and only its digest is kept', () => {
    const { key, entry } = createKey('acme', 10, null);
    expect(Buffer.from(key.slice(3), 'base64url')).toHaveLength(32);
    expect(createKey('acme', 10, null).key).not.toBe(key);
    expect(entry).toEqual({
      id: 'acme',
      key_sha256: [createHash('sha256').update(key).digest('hex')],
      quotas: { compute_runs: 10, compute_seconds: null },
    });
  });
});
