import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/result-type.ts';
import type { KeyPolicy } from '../../../src/contract/source.ts';
import { computeStepFormat } from '../../../src/model/formats/compute-step.ts';
import { BUILT_IN_PACK_DIR, loadPack, type Pack } from '../../../src/prompt/pack.ts';
import { type Prompt, renderPrompt } from '../../../src/prompt/render.ts';
import { describeSources } from '../../../src/schema/describe.ts';
import { type Freedom, fill, type Plan, plans } from '../../fakes/fillings.ts';
import { shapeOf } from './shapes.ts';

const SAME_COUNTS: Freedom = { repeatElements: 1, repeatEntries: 1 };
const OTHER_COUNTS: Freedom = { repeatElements: 4, repeatEntries: 4 };
const result = { type: 'any', nullable: false, schema: null } as const;
const instruction = 'the average price of my orders';

let pack: Pack;
beforeAll(async () => {
  pack = await loadPack(BUILT_IN_PACK_DIR);
});

/** The prompt for one document, as the pipeline makes it. */
function promptFor(text: string, keys: KeyPolicy, declared: JsonObject | null = null): Prompt {
  const schema = describeSources([{ name: 'orders', shape: shapeOf(text), keys, declared }]);
  return renderPrompt(pack, { instruction, result }, schema);
}

function expectSame(a: Prompt, b: Prompt): void {
  expect(b.text).toBe(a.text);
  expect(JSON.stringify(b.schema)).toBe(JSON.stringify(a.schema));
  const target = {
    url: new URL('https://models.example.com/'),
    name: null,
    parameters: {},
    headers: {},
    signingSecret: null,
  };
  const body = (prompt: Prompt) =>
    JSON.stringify(
      computeStepFormat.body(
        prompt,
        { ...target, format: 'compute-step' },
        { id: 'x', attempt: 1, traceparent: null },
      ),
    );
  expect(body(b)).toBe(body(a));
}

describe('two fillings of one shape', () => {
  it('give the same prompt byte for byte, with any values, map keys and writing, under every policy', () => {
    fc.assert(
      fc.property(
        plans,
        fc.integer(),
        fc.integer(),
        fc.constantFrom<KeyPolicy>('auto', 'fields', 'data'),
        (plan, one, other, policy) => {
          // Under `fields` the caller says that keys are names: then they are not data, so there is no map.
          const keys = policy === 'fields' && hasMap(plan) ? 'auto' : policy;
          const [a, b] = [fill(plan, one, SAME_COUNTS), fill(plan, other, SAME_COUNTS)];
          expectSame(promptFor(a, keys), promptFor(b, keys));
        },
      ),
      { numRuns: 400 },
    );
  });

  it('may differ in the lengths of arrays and maps too, where keys are said to be data or are declared', () => {
    const declared: JsonObject = {
      type: ['array', 'object'],
      items: { properties: { id: {}, name: {}, total: { properties: { rate: {} } } } },
      properties: { line_items: { items: { properties: { quantity: {} } } } },
    };
    fc.assert(
      fc.property(plans, fc.integer(), fc.integer(), fc.boolean(), (plan, one, other, isDeclared) => {
        const [a, b] = [fill(plan, one, OTHER_COUNTS), fill(plan, other, OTHER_COUNTS)];
        const say = isDeclared ? declared : null;
        expectSame(
          promptFor(a, isDeclared ? 'auto' : 'data', say),
          promptFor(b, isDeclared ? 'auto' : 'data', say),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('may differ in the lengths of arrays too, where keys are said to be fields', () => {
    fc.assert(
      fc.property(
        plans.filter((plan) => !hasMap(plan)),
        fc.integer(),
        fc.integer(),
        (plan, one, other) => {
          const [a, b] = [fill(plan, one, OTHER_COUNTS), fill(plan, other, OTHER_COUNTS)];
          expectSame(promptFor(a, 'fields'), promptFor(b, 'fields'));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('may differ in the lengths of arrays and maps too under auto', () => {
    fc.assert(
      fc.property(plans, fc.integer(), fc.integer(), (plan, one, other) => {
        const [a, b] = [fill(plan, one, OTHER_COUNTS), fill(plan, other, OTHER_COUNTS)];
        expectSame(promptFor(a, 'auto'), promptFor(b, 'auto'));
      }),
      { numRuns: 2000 },
    );
  });
});

function hasMap(plan: Plan): boolean {
  switch (plan.kind) {
    case 'map':
      return true;
    case 'array':
      return plan.items.some(hasMap);
    case 'object':
      return plan.fields.some(([, below]) => hasMap(below));
    default:
      return false;
  }
}
