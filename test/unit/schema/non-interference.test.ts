import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/result-type.ts';
import type { KeyPolicy } from '../../../src/contract/source.ts';
import { computeStepFormat } from '../../../src/model/formats/compute-step.ts';
import { BUILT_IN_PACK_DIR, loadPack, type Pack } from '../../../src/prompt/pack.ts';
import { type Prompt, renderPrompt } from '../../../src/prompt/render.ts';
import { describeSources } from '../../../src/schema/describe.ts';
import { type Freedom, fill, type Plan, plans, steadyPlans } from '../../fakes/fillings.ts';
import { shapeOf } from './shapes.ts';

const SAME_COUNTS: Freedom = { least: 1, most: 1 };
const OTHER_COUNTS: Freedom = { least: 1, most: 4 };
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
        { id: 'x', repairs: [], traceparent: null },
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
      { numRuns: 250 },
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
      { numRuns: 150 },
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
      { numRuns: 150 },
    );
  });

  // How often a field is there beside how many records there are is what `auto` judges by, so where fields are
  // optional, or records fewer than three, lengths can decide whether a key counts as a name.
  it('may differ in lengths from three up under auto, where all records have the same keys', () => {
    fc.assert(
      fc.property(steadyPlans, fc.integer(), fc.integer(), (plan, one, other) => {
        const [a, b] = [fill(plan, one, { least: 3, most: 5 }), fill(plan, other, { least: 3, most: 5 })];
        expectSame(promptFor(a, 'auto'), promptFor(b, 'auto'));
      }),
      { numRuns: 150 },
    );
  });

  it('are told apart as soon as the shape differs: the comparison can fail', () => {
    const prompts = [
      '[{"id":1}]',
      '[{"id":1.5}]',
      '[{"id":null}]',
      '[{"id":1},{}]',
      '[{"name":1}]',
      '{"id":1}',
      '[]',
    ];
    expect(new Set(prompts.map((text) => promptFor(text, 'auto').text)).size).toBe(prompts.length);
  });
});

describe('what a prompt does not depend on', () => {
  it.each([
    ['what a text says', '{"note":"a"}', '{"note":"bob@corp.example owes 12 EUR"}'],
    ['how long a text is', '{"note":""}', `{"note":"${'x'.repeat(5_000)}"}`],
    ['how large an integer is', '{"total":0}', `{"total":-${'9'.repeat(4_000)}}`],
    ['how large a number is', '{"total":0.0}', '{"total":1.7e308}'],
    ['which way a boolean is', '{"paid":true}', '{"paid":false}'],
    [
      'how many elements there are, from one',
      '[{"id":1,"paid":true}]',
      `[${Array(500).fill('{"id":2,"paid":false}').join(',')}]`,
    ],
    ['how many texts there are', '{"tags":["a"]}', `{"tags":[${Array(99).fill('"b"').join(',')}]}`],
    [
      'whose the keys of a map are',
      '{"bob@corp.example":1}',
      '{"eve@corp.example":2,"mallory@corp.example":3}',
    ],
    ['which days there are', '{"2026-11-30":1.5}', '{"1999-01-01":2.5,"1999-01-02":0.5,"1999-01-03":0.1}'],
    ['in what order the elements come', '[1,"a",null]', '[null,"b","c",2,3]'],
  ])('%s', (_, a, b) => {
    for (const keys of ['auto', 'data'] as const) expectSame(promptFor(a, keys), promptFor(b, keys));
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
