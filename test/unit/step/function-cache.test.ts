import { describe, expect, it } from 'vitest';
import type { ModelTarget } from '../../../src/model/port.ts';
import type { Prompt } from '../../../src/prompt/render.ts';
import { FunctionCache, flightKey, functionKey } from '../../../src/step/function-cache.ts';
import type { FunctionCacheOutcome } from '../../../src/step/observer.ts';
import { prompt, target } from '../model/asking.ts';

function cache(entriesPerTenant: number) {
  const told: FunctionCacheOutcome[] = [];
  const kept = new FunctionCache({
    entriesPerTenant,
    observer: { functionCache: (outcome) => told.push(outcome) },
  });
  return { kept, told };
}

const entry = (text: string) => ({ text, attempts: [] });
const MIB = 1024 * 1024;

describe('the functions kept', () => {
  it('are a tenant’s own', () => {
    const { kept } = cache(10);
    kept.store('a', 'k', entry('one'));
    expect(kept.find('a', 'k')?.text).toBe('one');
    expect(kept.find('b', 'k')).toBeNull();
    expect(kept.find('a', 'l')).toBeNull();
    kept.evict('b', 'k');
    expect(kept.find('a', 'k')?.text).toBe('one');
  });

  it('are at most so many a tenant: the one not used for longest goes', () => {
    const { kept, told } = cache(2);
    kept.store('a', '1', entry('1'));
    kept.store('a', '2', entry('2'));
    kept.find('a', '1');
    kept.store('a', '3', entry('3'));
    kept.store('b', '4', entry('4'));
    expect(['1', '2', '3'].map((key) => kept.find('a', key)?.text)).toEqual(['1', undefined, '3']);
    expect(kept.find('b', '4')?.text).toBe('4');
    expect(told).toEqual(['stored', 'stored', 'stored', 'evicted', 'stored']);
  });

  it('are at most 4 MiB a tenant', () => {
    const { kept } = cache(1000);
    for (const key of ['1', '2', '3', '4', '5']) kept.store('a', key, entry('x'.repeat(MIB / 2)));
    expect(['1', '2', '3', '4', '5'].map((key) => kept.find('a', key) !== null)).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  it('are at most 128 MiB in all: the tenant that asked least recently loses its own', () => {
    const { kept } = cache(1000);
    for (let tenant = 0; tenant < 42; tenant += 1) {
      for (const key of ['1', '2', '3']) kept.store(`t${tenant}`, key, entry('x'.repeat(MIB / 2)));
    }
    expect(kept.find('t0', '1')).not.toBeNull();
    kept.store('late', '1', entry('x'.repeat(MIB)));
    expect(kept.find('t1', '1')).toBeNull();
    expect(kept.find('t0', '3')).not.toBeNull();
    expect(kept.find('late', '1')).not.toBeNull();
  });

  it('count what goes: a replaced or evicted one leaves its room', () => {
    const { kept } = cache(1000);
    for (let turn = 0; turn < 20; turn += 1) kept.store('a', 'k', entry('x'.repeat(MIB)));
    for (let turn = 0; turn < 20; turn += 1) {
      kept.store('a', 'l', entry('x'.repeat(MIB / 2)));
      kept.evict('a', 'l');
    }
    expect(kept.find('a', 'k')).not.toBeNull();
  });

  it('go only while they are the function that failed', () => {
    const { kept, told } = cache(10);
    kept.store('a', 'k', entry('old'));
    kept.store('a', 'k', entry('new'));
    kept.evict('a', 'k', 'old');
    expect(kept.find('a', 'k')?.text).toBe('new');
    kept.evict('a', 'k', 'new');
    kept.evict('a', 'k', 'new');
    expect(kept.find('a', 'k')).toBeNull();
    expect(told).toEqual(['stored', 'stored', 'evicted']);
  });

  it('are none where none are to be kept', () => {
    const { kept, told } = cache(0);
    kept.store('a', 'k', entry('one'));
    expect(kept.find('a', 'k')).toBeNull();
    expect(told).toEqual([]);
  });
});

describe('what a function is kept under', () => {
  const at = (more: Partial<ModelTarget> = {}) => target('https://models.example.com/write', more);
  const other = (more: Partial<Prompt>) => functionKey({ ...prompt, ...more } as Prompt, at());
  const key = functionKey(prompt, at());

  it('is a SHA-256, the same for the same question', () => {
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(functionKey({ ...prompt }, at())).toBe(key);
  });

  it.each([
    ['the system part', other({ system: 'x' })],
    ['the user part', other({ user: 'x' })],
    ['where the parts meet', other({ system: 'system part\n\nuser', user: 'part' })],
    ['the pack', other({ packDigest: 'sha256:01' })],
    ['the result type', other({ resultType: 'string' })],
    ['the URL', functionKey(prompt, target('https://models.example.com/other'))],
    ['the query of the URL', functionKey(prompt, target('https://models.example.com/write?a=1'))],
    ['the format', functionKey(prompt, at({ format: 'openai' }))],
    ['the name of the model', functionKey(prompt, at({ name: 'm' }))],
    ['a parameter', functionKey(prompt, at({ parameters: { temperature: 0 } }))],
  ])('is another one with %s', (_name, changed) => {
    expect(changed).toMatch(/^[0-9a-f]{64}$/);
    expect(changed).not.toBe(key);
  });

  it('does not depend on whose key pays, while a call is shared only with the same headers and attempts', () => {
    const paid = at({ headers: { authorization: 'Bearer a' } });
    expect(functionKey(prompt, paid)).toBe(key);
    const flight = flightKey('a', key, at(), 2);
    expect(flightKey('a', key, at(), 2)).toBe(flight);
    for (const changed of [
      flightKey('b', key, at(), 2),
      flightKey('a', 'k', at(), 2),
      flightKey('a', key, at(), 3),
      flightKey('a', key, paid, 2),
    ]) {
      expect(changed).not.toBe(flight);
    }
  });
});
