import { beforeAll, describe, expect, it } from 'vitest';
import type { Admission } from '../../../src/admission/admit.ts';
import { ruleTable } from '../../../src/admission/rules/rule-table.ts';
import { RULE_IDS } from '../../../src/contract/admission.ts';
import { draftOf } from '../../../src/model/reply.ts';
import { packAdmission } from './corpus.ts';

let admission: Admission;
beforeAll(async () => {
  admission = await packAdmission();
});

const END = '\ndef compute(data):\n    return 1\n';

/** One source a rule, and every refusal it must get: rule, line, column. No other rule may see it. */
const TABLE: readonly (readonly [title: string, code: string, refusals: readonly string[]])[] = [
  ['a carriage return', `x = 1 # a\rimport os${END}`, ['syntax: U+000D 1:9']],
  ['every refused character', `x = '\u200b\u202e'${END}`, ['syntax: U+200B 1:5', 'syntax: U+202E 1:6']],
  ['an astral character counts as one column', `x = '😀\u200b'${END}`, ['syntax: U+200B 1:6']],
  ['an encoding declaration', `x = 1\n# coding=latin-1${END}`, ['syntax: coding 2:0']],
  ['a source that is too large', `x = '${'a'.repeat(65_536)}'${END}`, ['syntax: size 1:0']],
  ['too many continued lines', `x = 1${' + \\\n1'.repeat(201)}${END}`, ['syntax: line continuations 201:4']],
  ['text that is no Python', `x = 1\ny = = 2${END}`, ['syntax: not Python 2:4']],
  ['a missing bracket', 'def compute(data):\n    return (1\n', ['syntax: not Python 2:4']],
  ['a blank that is none', `x =\u00a01${END}`, ['syntax: not Python 1:3']],
  ['nesting', `x = ${'('.repeat(500)}1${')'.repeat(500)}${END}`, ['syntax: nesting 1:401']],
  ['elements', `x = [${'1,'.repeat(20_500)}]${END}`, ['syntax: size 1:39998']],
  ['async', `async def f():\n    pass${END}`, ['syntax: async 1:0']],
  ['global', `def f():\n    global y\n    y = 1${END}`, ['syntax: global statement 2:4']],
  ['except*', `try:\n    pass\nexcept* ValueError:\n    pass${END}`, ['syntax: except* 3:6']],
  ['a matrix product', `x = 1 @ 2${END}`, ['syntax: @ 1:6']],
  ['type parameters', `def f[T](x):\n    return x${END}`, ['syntax: type parameters 1:5', 'name: T 1:6']],
  ['a folded name', `ｘ = 1${END}`, ['syntax: x 1:0']],
  ['a number of Python 2', `x = 0777${END}`, ['syntax: number 1:4']],
  ['a string prefix of Python 2', `x = ur'a'${END}`, ['syntax: string prefix 1:4']],
  ['an unknown conversion', `x = f'{1!x}'${END}`, ['syntax: conversion 1:8']],
  ['an empty block', `if 1:\n    # nothing${END}`, ['syntax: empty block 1:5']],
  ['a tab after a space', `if 1:\n \tx = 1${END}`, ['syntax: tabs 2:2']],
  ['return outside a function', `return 1${END}`, ['syntax: return 1:0']],
  ['return in a class body', `class A:\n    return 1${END}`, ['syntax: return 2:4']],
  ['a class keyword', `class A(dict, x=1):\n    pass${END}`, ['syntax: class keyword x 1:14']],
  ['a metaclass', `class A(type):\n    pass${END}`, ['syntax: metaclass 1:8', 'structure: base type 1:8']],
  ['a decorator', `def d(f):\n    return f\n@d\ndef g():\n    pass${END}`, ['syntax: @d 3:0']],
  ['no compute', 'x = 1\n', ['structure: compute 1:0']],
  ['a second compute', `compute = 1${END}`, ['structure: compute 1:0']],
  ['a computed base', `class A(dict()):\n    pass${END}`, ['structure: base call 1:8']],
  [
    'a field outside a dataclass',
    `from dataclasses import field\nclass A:\n    x: int = field()${END}`,
    ['structure: field 3:13'],
  ],
  [
    'a called dataclass',
    `import dataclasses\nx = dataclasses.dataclass(dict)${END}`,
    ['structure: dataclass 2:4'],
  ],
  [
    'an enumeration out of data',
    `from enum import Enum\nx = Enum('X', [])\ny = Enum('X', x)${END}`,
    ['structure: Enum 3:4'],
  ],
  ['an import', `import os, math, sys${END}`, ['import: os 1:7', 'import: sys 1:17']],
  ['a member that is imported', `from math import (sqrt,\n  sys as s)${END}`, ['import: math.sys 2:2']],
  ['a name that is bound nowhere', `x = [\n    a,\n    len,\n  b]${END}`, ['name: a 2:4', 'name: b 4:2']],
  ['a refused builtin', `x = eval${END}`, ['name: eval 1:4']],
  ['a refused builtin that is bound', `for open in []:\n    pass${END}`, ['name: open 1:4']],
  ['a special name', `x = __file__${END}`, ['name: __file__ 1:4']],
  ['type', `x = type('X', (), {})${END}`, ['name: type 1:4']],
  ['super', `class A(dict):\n    def f(self):\n        return super().f()${END}`, ['name: super 3:15']],
  ['print', `print(1, flush=True)${END}`, ['name: print flush 1:9']],
  ['typing.Type', `import typing\nx = typing.Type${END}`, ['name: Type 2:4']],
  [
    'a member that evaluates strings',
    `import string\nx = string.Formatter()${END}`,
    ['string: string.Formatter 2:4'],
  ],
  ['a module as a value', `import math\nx = [math]${END}`, ['attribute: math 2:5']],
  ['a module that is rebound', `import math\nmath = 1${END}`, ['attribute: math 1:7', 'attribute: math 2:0']],
  ['a member of a module', `import math\nx = math.sys.path${END}`, ['attribute: math.sys 2:4']],
  ['a special attribute', `x = 1\ny = (x\n  .__class__)${END}`, ['attribute: __class__ 3:3']],
  ['a private attribute', `x = 1\ny = x._z${END}`, ['attribute: _z 2:6']],
  ['a frame', `x = 1\ny = x.gi_frame${END}`, ['attribute: gi_frame 2:6']],
  ['a field named like a frame', `class A:\n    gi_frame: int${END}`, ['attribute: gi_frame 2:4']],
  ['a store', `x = 1\nx.y = 2${END}`, ['attribute: set y 2:0']],
  [
    'a special method',
    `class A:\n    def __getattr__(self, n):\n        return n${END}`,
    ['attribute: __getattr__ 2:8'],
  ],
  ['a deep pattern', `x = 1\nmatch x:\n    case x.y.z:\n        pass${END}`, ['attribute: x.y.z 3:9']],
  ['a format field', `x = '{0.y}'.format(1)${END}`, ['string: format attribute 1:12']],
  ['a format template that is not known', `x = ''\nx = x.format(1)${END}`, ['string: format 2:6']],
  ['a field named format', `class A(str):\n    format: int${END}`, ['string: format 2:4']],
];

describe('each rule refuses at the place it means, and no other rule does', () => {
  it.each(TABLE)('%s', (_title, code, expected) => {
    const found = admission.all(draftOf(code)).map(({ rule, line, column }) => `${rule} ${line}:${column}`);
    expect(found).toEqual(expected);
  });
});

describe('the rule table', () => {
  it('has a unique title, a reason and a hint for every rule, under the ids of the contract', () => {
    const rules = ruleTable();
    expect(new Set(rules.map(({ title }) => title)).size).toBe(rules.length);
    for (const { id, title, reason, hint } of rules) {
      expect(RULE_IDS).toContain(id);
      expect(title).not.toBe('');
      expect(reason).toMatch(/\.$/);
      expect(hint.length).toBeGreaterThan(10);
    }
    expect(new Set(rules.map(({ id }) => id))).toEqual(new Set(RULE_IDS));
  });
});
