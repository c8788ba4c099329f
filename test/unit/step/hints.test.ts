import { beforeAll, describe, expect, it } from 'vitest';
import type { Admission } from '../../../src/admission/admit.ts';
import { ruleTable } from '../../../src/admission/rules/rule-table.ts';
import { systemClock } from '../../../src/clock.ts';
import type { Model } from '../../../src/model/port.ts';
import { draftOf } from '../../../src/model/reply.ts';
import { nullObserver } from '../../../src/step/observer.ts';
import { nullWatch } from '../../../src/step/watch.ts';
import { writeFunction } from '../../../src/step/write-function.ts';
import { followHint } from '../../fakes/hint-follower.ts';
import { packAdmission } from '../admission/corpus.ts';
import { RULE_CASES } from '../admission/rule-cases.ts';
import { shownFor } from '../admission/schema-keys/shown.ts';
import { prompt, target } from '../model/asking.ts';

let admission: Admission;
beforeAll(async () => {
  admission = await packAdmission();
});

/** A model that writes `code` first, and then does what the message of each repair says, and nothing else. */
function literalModel(code: string): Model {
  return {
    ask: async (_prompt, _target, { repairs }) =>
      draftOf(repairs.reduce((source, repair) => followHint(source, repair.text), code)),
    close: async () => {},
  };
}

/** What the prompt of the steps shows of their data. */
const SHOWN = shownFor({ orders: [{ id: 1, price: 2 }], note: 'x' });
const MISSPELT =
  'def compute(data):\n    return [o["pric"] for o in data["ordrs"]] + data["orders"][0]["pric"]\n';

const written = (model: Model) =>
  writeFunction(
    { model, admission, observer: nullObserver, clock: systemClock },
    {
      id: 'x',
      prompt: { ...prompt, schema: SHOWN },
      target: target('https://models.example.com/'),
      traceparent: null,
      watch: nullWatch,
      maxAttempts: 5,
    },
    new AbortController().signal,
  );

describe('a model that follows the hints to the letter has its function admitted', () => {
  it.each(RULE_CASES)('%s', async (_title, code) => {
    const ended = await written(literalModel(code));
    const told = ended.attempts.map(({ admission: each }) => ('rule' in each ? each.rule : 'admitted'));
    expect(told.at(-1), `${told.join(' | ')}`).toBe('admitted');
    expect(told.length).toBeGreaterThan(1);
  });

  it('also where the keys are not those of the data', async () => {
    const ended = await written(literalModel(MISSPELT));
    const told = ended.attempts.map(({ admission: each }) => ('rule' in each ? each.rule : 'admitted'));
    expect(told).toEqual(['schema-keys: ordrs', 'schema-keys: pric', 'schema-keys: pric', 'admitted']);
  });

  it('for every rule there is', () => {
    const told = new Set(
      [...RULE_CASES.map(([, code]) => code), MISSPELT].flatMap((code) =>
        admission.all(draftOf(code), SHOWN).map(({ rule_id }) => rule_id),
      ),
    );
    expect(told).toEqual(new Set(ruleTable().map(({ id }) => id)));
  });
});

/** What models do write: the refused line, words of what they are told instead, and a line that does just that. */
const HABITS: readonly (readonly [refused: string, told: string, instead: string])[] = [
  ['import pandas as pd', 'Use lists of dictionaries with collections', 'import collections'],
  ['import requests', 'Remove it', ''],
  ['import time', 'Use datetime for dates', 'import datetime'],
  ['import pathlib', 'Use str methods such as rsplit', "x = 'a/b'.rsplit('/', 1)"],
  ['from math import *', 'Import the names that are used', 'from math import sqrt'],
  ['x = open("a")', 'Remove it', ''],
  ['x = getattr({}, "a")', 'Use data["key"] or data.get("key")', 'x = {}.get("a")'],
  ['x = hasattr({}, "a")', 'Use "key" in data', 'x = "a" in {}'],
  ['x = vars(1)', 'Use a dictionary', 'x = {}'],
  ['x = dir({})', 'Use the keys of a dictionary', 'x = list({})'],
  ['x = id(1) == id(2)', 'Compare with "is"', 'x = [] is []'],
  ['x = object()', 'use a sentinel such as a one-element list', 'x = [0]'],
  ['x = compile("a", "b", "c")', 'Use re.compile for a pattern', 'import re\nx = re.compile("a")'],
  ['x = (1).__dict__', 'or a dictionary to begin with', 'x = {}'],
  ['import json\nx = json.load(1)', 'Use json.loads on a text', 'import json\nx = json.loads("1")'],
  ['import operator\nx = operator.attrgetter("y")', 'Use lambda row: row.name', 'x = lambda row: row.y'],
  ['def f():\n    print 1', 'Remove it; return the result', 'def f():\n    return 1'],
  ['x = 1 <> 2', 'Use !=', 'x = 1 != 2'],
  [
    'try:\n    pass\nexcept BaseException:\n    pass',
    'Use Exception',
    'try:\n    pass\nexcept Exception:\n    pass',
  ],
];

describe('what models write often comes with what to write instead, and that is admitted', () => {
  it.each(HABITS)('%s', async (refused, told, instead) => {
    const heard: string[] = [];
    const model: Model = {
      ask: async (_prompt, _target, { repairs }) => {
        heard.push(...repairs.map(({ text }) => text));
        return draftOf(`${repairs.length === 0 ? refused : instead}\n\ndef compute(data):\n    return 1\n`);
      },
      close: async () => {},
    };
    expect((await written(model)).kind).toBe('admitted');
    expect(heard).toHaveLength(1);
    expect(heard[0]).toContain(told);
  });
});
