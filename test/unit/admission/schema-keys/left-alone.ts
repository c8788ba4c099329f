import { compute } from '../../../fakes/python-functions.ts';

const loop = (...lines: string[]) =>
  compute('for o in data["orders"]:', ...lines.map((line) => `    ${line}`));
const BAD = 'print(data["orders"][0]["pric"])';

/** Functions over the data of the test that must stay admitted, and why; each holds a key that no schema names. */
export const LEFT_ALONE: readonly (readonly [why: string, code: string])[] = [
  ['get gives None', compute('return data["summary"].get("totl")')],
  ['a store makes the field', loop('o["totl"] = 1', 'print(o["totl"])')],
  [
    'a store makes it for all records there',
    compute('data["orders"][0]["totl"] = 1', 'return data["orders"][1]["totl"]'),
  ],
  [
    'a store may replace what is below',
    compute('data["summary"] = {"sum": 1}', 'return data["summary"]["sum"]'),
  ],
  [
    'a loop may store',
    compute('for data["summary"]["sum"] in [1]:', '    pass', 'return data["summary"]["sum"]'),
  ],
  [
    'a store under a computed key',
    compute('k = "x" + "y"', 'data["summary"][k] = 1', 'return data["summary"]["xy"]'),
  ],
  ['update', loop('o.update(totl=1)', 'print(o["totl"])')],
  ['update by a method that is kept', loop('add = o.update', 'add({"totl": 1})', 'print(o["totl"])')],
  ['setdefault', loop('o.setdefault("totl", 1)', 'print(o["totl"])')],
  ['|=', loop('o |= {"totl": 1}', 'for o2 in data["orders"]:', '    print(o2["totl"])')],
  ['an element is added', compute('data["orders"].append({"totl": 1})', 'return data["orders"][-1]["totl"]')],
  [
    'elements are added',
    compute('data["orders"].extend([{"totl": 1}])', 'return data["orders"][-1]["totl"]'),
  ],
  [
    'elements are added by +=',
    compute('o = data["orders"]', 'o += [{"totl": 1}]', 'return data["orders"][-1]["totl"]'),
  ],
  [
    'elements of a place are added by +=',
    compute('data["orders"] += [{"totl": 1}]', 'return data["orders"][-1]["totl"]'),
  ],
  [
    'a list of records gets another',
    compute('r = [o for o in data["orders"]]', 'r.append({"totl": 1})', 'return r[-1]["totl"]'),
  ],
  [
    'a list of records gets another by +=',
    compute(
      'r = [o for o in data["orders"]]',
      'r += [{"totl": 1}]',
      'return [o for o in [*data["orders"]]][-1]["totl"]',
    ),
  ],
  [
    'a dictionary of records gets another',
    compute(
      'by = {o["id"]: o for o in data["orders"]}',
      'by["all"] = {"totl": 1}',
      'return by["all"]["totl"]',
    ),
  ],
  [
    'a heap gets another',
    `import heapq\n${compute('heapq.heappush(data["orders"], {"totl": 1})', 'return data["orders"][-1]["totl"]')}`,
  ],
  ['a helper stores a key', `def add(o):\n    o["totl"] = 1\n\n${loop('add(o)', 'print(o["totl"])')}`],
  [
    'a helper stores some key',
    `def add(o, k):\n    o[k + "l"] = 1\n\n${loop('add(o, "to" + "t")', 'print(o["totl"])')}`,
  ],
  [
    'a helper updates',
    `def add(o, more):\n    o.update(more)\n\n${loop('add(o, {"to" + "tl": 1})', 'print(o["totl"])')}`,
  ],
  [
    'a helper updates by keyword',
    `def add(o):\n    o.update(totl=1)\n\n${loop('add(o)', 'print(o["totl"])')}`,
  ],
  [
    'a helper keeps update',
    `def add(o):\n    return o.update\n\n${loop('add(o)({"to" + "tl": 1})', 'print(o["totl"])')}`,
  ],
  [
    'a helper merges',
    `def add(o, more):\n    o |= more\n\n${loop('add(o, {"to" + "tl": 1})', 'print(o["totl"])')}`,
  ],
  ['a helper merges a literal', `def add(o):\n    o |= {"totl": 1}\n\n${loop('add(o)', 'print(o["totl"])')}`],
  [
    'a helper adds a record',
    `def add(r):\n    last = {"totl": 1}\n    r.append(last)\n\n${compute('add(data["orders"])', 'return data["orders"][-1]["totl"]')}`,
  ],
  [
    'a helper adds records by +=',
    `def add(r):\n    last = [{"totl": 1}]\n    r += last\n\n${compute('add(data["orders"])', 'return data["orders"][-1]["totl"]')}`,
  ],
  [
    'a helper replaces a source',
    `def tidy(d):\n    d["orders"] = [{"totl": 1}]\n\n${compute('tidy(data)', 'return data["orders"][0]["totl"]')}`,
  ],
  [
    'a helper replaces what is below, by what it has made before',
    `def tidy(d):\n    own = {"totl": 1}\n    d["summary"] = own\n\n${compute('tidy(data)', 'return data["summary"]["totl"]')}`,
  ],
  [
    'a helper replaces a record',
    `def tidy(r):\n    r[0] = {"totl": 1}\n\n${compute('tidy(data["orders"])', 'return data["orders"][0]["totl"]')}`,
  ],
  [
    'a helper replaces a source by update',
    `def tidy(d):\n    own = [{"totl": 1}]\n    d.update(orders=own)\n\n${compute('tidy(data)', 'return data["orders"][0]["totl"]')}`,
  ],
  [
    'a record kept in a dictionary of its own gets a key',
    compute(
      'by = {}',
      'for o in data["orders"]:',
      '    by[o["id"]] = o',
      'by[1]["totl"] = 1',
      'return data["orders"][0]["totl"]',
    ),
  ],
  [
    'a record kept in a dictionary of its own gets some key',
    compute(
      'by = {}',
      'for o in data["orders"]:',
      '    by[o["id"]] = o',
      'by[1]["to" + "tl"] = 1',
      'return data["orders"][0]["totl"]',
    ),
  ],
  [
    'records of another place are added',
    compute('data["orders"][0]["lines"] += data["orders"]', 'return data["orders"][0]["lines"][-1]["price"]'),
  ],
  [
    'records of another source are added',
    compute('data["pairs"][0] += data["orders"]', 'return data["pairs"][0][-1]["id"]'),
  ],
  [
    'a helper adds records of another source',
    `def add(r, more):\n    r.extend(more)\n\n${compute('add(data["pairs"][0], data["orders"])', 'return data["pairs"][0][-1]["id"]')}`,
  ],
  [
    'a list of two gets another',
    compute('p = [data["summary"], 1]', 'p[0] = {"totl": 1}', 'return p[0]["totl"]'),
  ],
  [
    'a lambda in a loop sees what the name is later',
    compute(
      'f = []',
      'for o in data["orders"]:',
      '    f.append(lambda: o["totl"])',
      'for o in [{"totl": 1}]:',
      '    pass',
      'return f[0]()',
    ),
  ],
  ['in tests for the key', loop('if "pric" in o:', '    print(o["pric"])')],
  ['not in tests for the key', loop('if "pric" not in o:', '    return 0', 'print(o["pric"])')],
  ['get tests for the key', loop('if o.get("pric"):', '    print(o["pric"])')],
  ['a list of keys tests for it', loop('if all(k in o for k in ("pric", "id")):', '    print(o["pric"])')],
  ['a text of keys tests for it', loop('if all(k in o for k in "pric id".split()):', '    print(o["pric"])')],
  ['a key that is a pair', compute('return data["summary"]["totl", "sum"]')],
  ['try', compute('try:', `    ${BAD}`, 'except KeyError:', '    return 1')],
  ['try with a bare except', compute('try:', `    ${BAD}`, 'except:', '    return 1')],
  [
    'try with two exceptions',
    compute('try:', `    ${BAD}`, 'except (ValueError, LookupError) as e:', '    return 1'),
  ],
  [
    'try with an exception of its own',
    `class Odd(KeyError):\n    pass\n\n${compute('try:', `    ${BAD}`, 'except Odd:', '    return 1')}`,
  ],
  [
    'finally drops it',
    compute('for i in [1]:', '    try:', `        ${BAD}`, '    finally:', '        continue'),
  ],
  [
    'a context may catch it',
    `class C:\n    def __enter__(self):\n        return self\n    def __exit__(self, *a):\n        return True\n\n${compute('with C():', `    ${BAD}`)}`,
  ],
  [
    'a function inside may be called in try',
    compute('def f():', `    ${BAD}`, 'try:', '    f()', 'except KeyError:', '    return 1'),
  ],
  ['what is below a name that is a key itself', compute('return data["orders"]["pric"]')],
  ['a branch for another kind of record', loop('if o["status"] == "refund":', '    print(o["reason"])')],
  [
    'a branch after another',
    loop('if o["status"] == "paid":', '    pass', 'elif o["status"]:', '    print(o["reason"])'),
  ],
  ['an else branch', loop('if o["status"] == "paid":', '    pass', 'else:', '    print(o["reason"])')],
  ['a case', loop('match o["status"]:', '    case "refund":', '        print(o["reason"])')],
  [
    'a handler',
    loop('try:', '    print(float(o["status"]))', 'except ValueError:', '    print(o["reason"])'),
  ],
  ['a conditional expression', loop('print(o["reason"] if o["status"] == "refund" else 0)')],
  ['the right side of and', loop('print(o["status"] == "refund" and o["reason"])')],
  [
    'a filtered comprehension',
    compute('return [o["reason"] for o in data["orders"] if o["status"] == "refund"]'),
  ],
  [
    'a filter behind a filter',
    compute('return [1 for o in data["orders"] if o["status"] == "refund" if o["reason"]]'),
  ],
  ['after continue', loop('if o["status"] != "refund":', '    continue', 'print(o["reason"])')],
  ['after a test for another form', compute('if "items" in data:', '    return 1', 'return data["results"]')],
  ['while', compute('while data["empty"]:', '    print(data["results"])')],
  ['another spelling is tested for', loop('print(o["Status"] if "Status" in o else o["statu"])')],
  ['a map has any key', compute('return data["rates"]["CHF"]')],
  ['an empty list tells nothing', compute('return [e["any"] for e in data["empty"]]')],
  [
    'a name that is bound to something else',
    compute('o = data["summary"]', 'o = {"totl": 1}', 'return o["totl"]'),
  ],
  ['a name that is deleted', compute('o = data["summary"]', 'del o', 'return o["totl"]')],
  [
    'a name bound in a try',
    compute('try:', '    o = data["summary"]', 'except KeyError:', '    o = {"totl": 1}', 'return o["totl"]'),
  ],
  ['a loop that binds the name again', loop('o = {"totl": 1}', 'print(o["totl"])')],
  [
    'a loop name that a function inside binds again',
    compute(
      'o = 1',
      'def f():',
      '    nonlocal o',
      '    o = {"totl": 1}',
      'for o in data["orders"]:',
      '    f()',
      '    print(o["totl"])',
    ),
  ],
  [
    'a name used after its loop, where others bind it',
    compute(
      'for o in data["orders"]:',
      '    pass',
      'for o in [{"totl": 1}]:',
      '    pass',
      'return o["totl"]',
    ),
  ],
  ['data that is bound again', compute('data = data.get("all") or data', 'return data["ordrs"]')],
  [
    'compute that is called with other data',
    `${compute('if data:', '    return compute({})', 'return data["ordrs"]')}`,
  ],
  ['a parameter of a helper', `def f(o):\n    return o["pric"]\n\n${compute('return f(data["orders"][0])')}`],
  ['a key function that is kept', compute('f = lambda o: o["pric"]', 'return f({"pric": 1})')],
  [
    'a key function of two parameters',
    compute('return list(map(lambda o, p: o["pric"], data["orders"], [1]))'),
  ],
  ['a default of max', compute('return max(data["orders"], default={"totl": 1})["totl"]')],
  ['a default of next', compute('return next(iter(data["orders"]), {"totl": 1})["totl"]')],
  ['a default of get', compute('return data.get("summary", {"totl": 1})["totl"]')],
  ['a default of or', compute('return (data["summary"] or {"totl": 1})["totl"]')],
  [
    'either of two places',
    compute('o = data["summary"] if data["orders"] else data["orders"][0]', 'return o["totl"]'),
  ],
  ['a record that is copied with more', compute('return dict(data["summary"], totl=1)["totl"]')],
  [
    'a function of the source with the name of a builtin',
    `def sorted(x):\n    return [{"totl": 1}]\n\n${compute('return sorted(data["orders"])[0]["totl"]')}`,
  ],
  [
    'arguments that are spread',
    compute('return [a["totl"] for a, b in zip(*[[{"totl": 1}], data["orders"]])]'),
  ],
  [
    'lists that are spread',
    compute('for a, b, c in zip(*[[1], [{"totl": 1}]], data["orders"]):', '    return b["totl"]'),
  ],
  ['a target that takes the rest', compute('a, *b = data["pairs"][0], {"totl": 1}', 'return b[0]["totl"]')],
  [
    'a context stores',
    `class C:\n    def __enter__(self):\n        return 1\n    def __exit__(self, *a):\n        return False\n\n${compute('with C() as data["summary"]["totl"]:', '    pass', 'return data["summary"]["totl"]')}`,
  ],
  [
    'records are added under some key',
    compute('k = "o" + "f"', 'data["pairs"][0][0][k] += data["orders"]', 'return data["pairs"][0][0]["of"]'),
  ],
  ['a key that is deleted', loop('del o["totl"]')],
];
