import { beforeAll, describe, expect, it } from 'vitest';
import type { Admission } from '../../../../src/admission/admit.ts';
import { draftOf } from '../../../../src/model/reply.ts';
import { compute } from '../../../fakes/python-functions.ts';
import { packAdmission } from '../corpus.ts';
import { LEFT_ALONE } from './left-alone.ts';
import { shownFor, told } from './shown.ts';

/** Closed everywhere but in `rates` (a map) and `empty`. */
const DATA = {
  orders: [
    { id: 1, price: 2.5, customer: { name: 'a', zip: '1' }, lines: [{ sku: 'x', qty: 1 }], status: 'paid' },
    { id: 2, price: 3.5, customer: { name: 'b', zip: '2' }, lines: [{ sku: 'y', qty: 2 }], status: 'open' },
  ],
  summary: { count: 2, total: 6 },
  rates: { EUR: { value: 1 }, USD: { value: 2 }, GBP: { value: 3 } },
  pairs: [[{ left: 1 }, { left: 2 }]],
  empty: [],
};

let admission: Admission;
beforeAll(async () => {
  admission = await packAdmission();
});
const over = (code: string) => told(admission, code, shownFor(DATA));

/** Where the misspelt key stands is what is refused: each function has one. */
const REFUSED: readonly (readonly [what: string, code: string, refused: string])[] = [
  ['a source', compute('return len(data["ordrs"])'), 'ordrs 2:20'],
  ['a field of a source', compute('return data["summary"]["totl"]'), 'totl 2:27'],
  ['a name in parentheses', compute('return (data)[("ordrs")]'), 'ordrs 2:19'],
  ['a text of two literals', compute('return data["ord" "rs"]'), 'ordrs 2:16'],
  ['an escape', compute('return data["ordr\\x73"]'), 'ordrs 2:16'],
  ['an annotated parameter', 'def compute(data: dict) -> int:\n    return data["ordrs"]\n', 'ordrs 2:16'],
  ['another name for data', compute('d = data', 'return d["ordrs"]'), 'ordrs 3:13'],
  ['an annotated name', compute('o: list = data["orders"]', 'return o[0]["pric"]'), 'pric 3:16'],
  ['an element', compute('return data["orders"][-1]["pric"]'), 'pric 2:30'],
  ['a slice', compute('return data["orders"][1:][0]["pric"]'), 'pric 2:33'],
  ['a loop', compute('for o in data["orders"]:', '    return o["pric"]'), 'pric 3:17'],
  [
    'a loop in a loop',
    compute('for o in data["orders"]:', '    for l in o["lines"]:', '        return l["qyt"]'),
    'qyt 4:21',
  ],
  [
    'a name of two loops',
    compute(
      'for x in data["orders"]:',
      '    print(x["id"])',
      'for x in data["pairs"][0]:',
      '    print(x["leff"])',
    ),
    'leff 5:16',
  ],
  [
    'a name bound twice to the same',
    compute('o = data["orders"][0]', 'o = data["orders"][1]', 'return o["pric"]'),
    'pric 4:13',
  ],
  [
    'two targets',
    compute('a, b = data["summary"], data["orders"]', 'return a["totl"] + b[0]["id"]'),
    'totl 3:13',
  ],
  ['enumerate', compute('for i, o in enumerate(data["orders"]):', '    return o["pric"]'), 'pric 3:17'],
  [
    'zip',
    compute('return [a["id"] + b["pric"] for a, b in zip(data["orders"], data["orders"])]'),
    'pric 2:24',
  ],
  ['a comprehension', compute('return [o["pric"] for o in data["orders"]]'), 'pric 2:14'],
  ['its filter', compute('return [1 for o in data["orders"] if o["pric"]]'), 'pric 2:43'],
  ['its second loop', compute('return [l["qyt"] for o in data["orders"] for l in o["lines"]]'), 'qyt 2:14'],
  ['a generator', compute('return sum(o["pric"] for o in data["orders"])'), 'pric 2:17'],
  ['a list made of records', compute('r = [o for o in data["orders"]]', 'return r[0]["pric"]'), 'pric 3:16'],
  ['a list of a starred one', compute('r = [*data["orders"]]', 'return r[0]["pric"]'), 'pric 3:16'],
  [
    'a dictionary made of records',
    compute('by = {o["id"]: o for o in data["orders"]}', 'return by[1]["pric"]'),
    'pric 3:17',
  ],
  [
    'its values and items',
    compute(
      'by = {o["id"]: o for o in data["orders"]}',
      'return [o["pric"] for k, o in by.items() for v in by.values()]',
    ),
    'pric 3:14',
  ],
  ['its get', compute('by = {o["id"]: o for o in data["orders"]}', 'return by.get(1)["pric"]'), 'pric 3:21'],
  ['a key function', compute('return sorted(data["orders"], key=lambda o: o["pric"])'), 'pric 2:50'],
  [
    'a key function of sort',
    compute('data["orders"].sort(key=lambda o: o["pric"])', 'return 1'),
    'pric 2:40',
  ],
  ['what max gives', compute('return max(data["orders"], key=lambda o: o["id"])["pric"]'), 'pric 2:54'],
  ['what max gives or None', compute('return max(data["orders"], default=None)["pric"]'), 'pric 2:45'],
  ['what next gives', compute('return next(iter(data["orders"]), None)["pric"]'), 'pric 2:44'],
  ['filter', compute('return list(filter(lambda o: o["pric"] > 1, data["orders"]))'), 'pric 2:35'],
  ['map', compute('return [c["nam"] for c in map(lambda o: o["customer"], data["orders"])]'), 'nam 2:14'],
  [
    'groupby',
    `from itertools import groupby\n${compute('for s, g in groupby(data["orders"], key=lambda o: o["status"]):', '    return [o["pric"] for o in g]')}`,
    'pric 4:18',
  ],
  [
    'the largest',
    `import heapq\n${compute('return heapq.nlargest(1, data["orders"], key=lambda o: o["pric"])')}`,
    'pric 3:61',
  ],
  [
    'neighbours',
    `from itertools import pairwise\n${compute('return [a["id"] - b["pric"] for a, b in pairwise(data["orders"])]')}`,
    'pric 3:24',
  ],
  [
    'bisect',
    `import bisect\n${compute('return bisect.bisect(data["orders"], 1, key=lambda o: o["pric"])')}`,
    'pric 3:60',
  ],
  ['a copy', `import copy\n${compute('return copy.deepcopy(data)["ordrs"]')}`, 'ordrs 3:31'],
  [
    'a copied record',
    compute('return dict(data["orders"][0])["pric"] + data["summary"].copy()["count"]'),
    'pric 2:35',
  ],
  ['what get gives', compute('return data.get("orders", [])[0]["pric"]'), 'pric 2:37'],
  ['what or leaves', compute('return (data.get("orders") or [])[0]["pric"]'), 'pric 2:41'],
  [
    'either of two',
    compute('o = data["orders"]', 'r = o[0] if len(o) else o[1]', 'return r["pric"]'),
    'pric 4:13',
  ],
  ['a value of a map', compute('return data["rates"]["EUR"]["valu"]'), 'valu 2:32'],
  ['every value of a map', compute('return [r["valu"] for r in data["rates"].values()]'), 'valu 2:14'],
  ['a popped element', compute('return data["orders"].pop()["pric"]'), 'pric 2:32'],
  ['a walrus', compute('if (o := data["orders"]):', '    return o[0]["pric"]'), 'pric 3:20'],
  ['an f-string', compute(`return f"{data['orders'][0]['pric']}"`), 'pric 2:32'],
  [
    'a function inside',
    compute('o = data["orders"]', 'def f():', '    return o[0]["pric"]', 'return f()'),
    'pric 4:20',
  ],
  [
    'an exception that is another',
    compute('try:', '    return data["ordrs"]', 'except ValueError:', '    return 1'),
    'ordrs 3:20',
  ],
  [
    'a context that catches nothing',
    `from decimal import localcontext\n${compute('with localcontext() as c:', '    return data["ordrs"]')}`,
    'ordrs 4:20',
  ],
  [
    'a misspelling under a condition',
    compute('for o in data["orders"]:', '    if o["id"] == 1:', '        return o["pric"]'),
    'pric 4:21',
  ],
  [
    'an augmented value',
    compute(
      't = {}',
      'for o in data["orders"]:',
      '    t[o["id"]] = 0',
      '    t[o["id"]] += o["pric"]',
      'return t',
    ),
    'pric 5:24',
  ],
  [
    'a dictionary of results with the same key',
    compute('return [{"pric": o["pric"]} for o in data["orders"]]'),
    'pric 2:23',
  ],
  ['a key that is augmented', compute('for o in data["orders"]:', '    o["pric"] += 1'), 'pric 3:10'],
  [
    'results that are added to',
    compute('r = []', 'for o in data["orders"]:', '    r += [{"pric": o["pric"]}]', 'return r'),
    'pric 4:25',
  ],
  [
    'a store into results',
    compute('r = {}', 'r["pric"] = data["orders"][0]["pric"]', 'return r'),
    'pric 3:34',
  ],
  [
    'a record of results',
    compute('r = []', 'for o in data["orders"]:', '    r.append({"pric": o["pric"]})', 'return r'),
    'pric 4:28',
  ],
  [
    'results in two dictionaries',
    compute('r, s = {}, []', 'for o in data["orders"]:', '    r[o["status"]] = o["pric"]', 'return r'),
    'pric 4:27',
  ],
  [
    'results by group',
    `from collections import defaultdict\n${compute('g = defaultdict(list)', 'for o in data["orders"]:', '    g[o["status"]].append({"pric": o["pric"]})', 'return g')}`,
    'pric 5:41',
  ],
  [
    'a __main__ guard that calls it',
    `${compute('return data["ordrs"]')}\nif __name__ == "__main__":\n    print(compute({}))\n`,
    'ordrs 2:16',
  ],
  [
    'a number that is augmented',
    compute('n = 0', 'for o in data["orders"]:', '    n += o["pric"]', 'return n'),
    'pric 4:15',
  ],
  [
    'a list of numbers stored into',
    compute('n = [0, 0]', 'n[-1] = data["orders"][0]["pric"]', 'return n'),
    'pric 3:30',
  ],
];

describe('a key that the shown schema does not name', () => {
  it.each(REFUSED)('is refused: %s', (_what, code, refused) => {
    expect(over(code)).toEqual([`schema-keys: ${refused}`]);
  });

  it.each(REFUSED)('is the one reason: %s', (_what, code) => {
    expect(admission.all(draftOf(code))).toEqual([]);
  });

  it('is named with its place and with what is near, and with no value', () => {
    const of = (code: string) => admission.all(draftOf(code), shownFor(DATA))[0];
    expect(of(compute('return [l["qyt"] for o in data["orders"] for l in o["lines"]]'))).toEqual({
      admitted: false,
      rule_id: 'schema-keys',
      rule: 'schema-keys: qyt',
      line: 2,
      column: 14,
      message: 'orders[].lines[] has no field of this name.',
      hint: 'Use "qty".',
    });
    expect(of(compute('return data["rates"]["EUR"]["worth"]'))).toMatchObject({
      message: 'rates[*] has no field of this name.',
      hint: 'Use a field that is there: "value".',
    });
    expect(of(compute('return data["order"]'))).toMatchObject({
      message: 'data has no field of this name.',
      hint: 'Use "orders".',
    });
  });

  it('is asked last: what another rule refuses is told first, and alone', () => {
    expect(over(`import os\n${compute('return data["ordrs"]')}`)).toEqual(['import: os 1:7']);
  });

  it('is no matter where no schema was shown', () => {
    const draft = draftOf(compute('return data["ordrs"]'));
    expect(admission.all(draft)).toEqual([]);
    expect(admission.all(draft, null)).toEqual([]);
    expect(admission.admit(draft, shownFor(DATA))).toMatchObject({ rule: 'schema-keys: ordrs' });
  });
});

describe('is left alone where the function may be right', () => {
  it.each(LEFT_ALONE)('%s', (_why, code) => {
    expect(over(code)).toEqual([]);
  });
});
