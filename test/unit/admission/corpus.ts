import { readFileSync } from 'node:fs';
import { type Admission, createAdmission } from '../../../src/admission/admit.ts';
import type { ModuleTable } from '../../../src/admission/modules.ts';

/** A function that must be refused, and the id of the rule that should refuse it first. */
export interface Attack {
  readonly id: string;
  readonly why: string;
  readonly rule_kind: string;
  readonly code: string;
}

/** A function that must be admitted. */
export interface Honest {
  readonly id: string;
  readonly instruction: string;
  readonly data: object;
  readonly code: string;
}

function lines<T>(name: string): T[] {
  const text = readFileSync(new URL(`../../cases/${name}`, import.meta.url), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

export const attacks = (): Attack[] => [
  ...lines<Attack>('attacks.jsonl'),
  ...lines<Attack>('more-attacks.jsonl'),
  ...lines<Attack>('subtle-attacks.jsonl'),
];
export const honest = (): Honest[] => [
  ...lines<Honest>('legit.jsonl'),
  ...lines<Honest>('more-legit.jsonl'),
  ...lines<Honest>('varied-legit.jsonl'),
];

/** The module table of the built-in prompt pack. */
export function packModules(): ModuleTable {
  const file = new URL('../../../src/prompt/packs/python-stdlib/pack.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { modules: ModuleTable }).modules;
}

/** Admission with the built-in pack's table. */
export const packAdmission = (): Promise<Admission> => createAdmission(packModules());
