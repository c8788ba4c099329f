import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Admission,
  type AdmittedFunction,
  createAdmission,
  isRefusal,
  MAX_REFUSALS,
} from '../../../src/admission/admit.ts';
import { createPythonParser } from '../../../src/admission/parse.ts';
import { escapedName } from '../../../src/admission/refusal.ts';
import { type Draft, draftOf } from '../../../src/model/reply.ts';
import { attacks, honest, packAdmission } from './corpus.ts';

let admission: Admission;
beforeAll(async () => {
  admission = await packAdmission();
});

/** A draft with exactly this text, as a caller that skips draftOf could make it. */
const raw = (source: string): Draft => ({ ...draftOf(''), source });

function admitted(source: string): AdmittedFunction {
  const verdict = admission.admit(raw(source));
  if (isRefusal(verdict)) throw new Error(`refused: ${verdict.rule}`);
  return verdict;
}

const FUNCTION = 'def compute(data):\n    return "é😀"\n';

describe('an admitted function', () => {
  it('carries the canonical bytes and their digest: LF, one newline at the end', () => {
    for (const source of [
      FUNCTION,
      FUNCTION.trimEnd(),
      `${FUNCTION}\n\n`,
      FUNCTION.replaceAll('\n', '\r\n'),
    ]) {
      const fn = admitted(source);
      expect(fn.text).toBe(FUNCTION);
      expect(fn.bytes().toString('utf8')).toBe(FUNCTION);
      expect(fn.sha256).toBe(createHash('sha256').update(FUNCTION).digest('hex'));
      expect(fn.lineCount).toBe(2);
    }
  });

  it('cannot be changed: not its members, and not the bytes through a copy', () => {
    const fn = admitted(FUNCTION);
    expect(Object.isFrozen(fn)).toBe(true);
    fn.bytes().fill(0);
    expect(fn.bytes().toString('utf8')).toBe(FUNCTION);
  });

  it('is admitted again from its own bytes with the same digest', () => {
    for (const { code } of honest()) {
      const fn = admitted(draftOf(code).source);
      expect(admitted(fn.bytes().toString('utf8')).sha256).toBe(fn.sha256);
    }
  });
});

describe('refusals', () => {
  it('are sorted by line and column, and admit gives the first', () => {
    const code =
      'import os\nx = a\ny = b; import sys\ndef compute(data):\n    return c.__class__ + data._d\n';
    const all = admission.all(draftOf(code));
    expect(all.map(({ rule, line, column }) => `${rule} ${line}:${column}`)).toEqual([
      'import: os 1:7',
      'name: a 2:4',
      'name: b 3:4',
      'import: sys 3:14',
      'name: c 5:11',
      'attribute: __class__ 5:13',
      'attribute: _d 5:30',
    ]);
    expect(admission.admit(draftOf(code))).toEqual(all[0]);
  });

  it('of the bytes come alone, before anything is parsed', () => {
    expect(admission.all(draftOf('import os\nx = "\u200b"\n')).map(({ rule }) => rule)).toEqual([
      'syntax: U+200B',
    ]);
  });

  it('give a message and a hint that say what to write instead', () => {
    for (const { code, id } of attacks()) {
      const [refusal] = admission.all(raw(code));
      expect(refusal?.message, id).toMatch(/^\w.{8,}\.$/s);
      expect(refusal?.hint, id).toMatch(/^[A-Z].{5,}\.?$/s);
      expect(refusal?.rule.length, id).toBeLessThanOrEqual(64);
      expect(refusal?.rule, id).toMatch(/^[ -~]+$/);
    }
  });

  it('point at a place of the source: line from 1, column in code points, at most the length of the line', () => {
    for (const { code, id } of attacks()) {
      const lines = code.replaceAll('\r\n', '\n').split('\n');
      for (const { line, column } of admission.all(raw(code))) {
        expect(lines.length, id).toBeGreaterThanOrEqual(line);
        expect(Array.from(lines[line - 1] ?? '').length, id).toBeGreaterThanOrEqual(column);
      }
    }
  });

  it('of a member name what the module is admitted for', () => {
    const hintOf = (code: string) =>
      admission.all(draftOf(`${code}\ndef compute(data):\n    return 1\n`))[0]?.hint;
    expect(hintOf('import copy\nx = copy.dispatch_table')).toBe('Admitted of copy: copy, deepcopy.');
    expect(hintOf('from copy import dispatch_table')).toBe('Admitted of copy: copy, deepcopy.');
    expect(hintOf('import typing\nx = typing.sys')).toMatch(/^Admitted of typing: .* and others\.$/);
    expect(hintOf('from functools import wraps')).toContain('decorator');
    expect(hintOf('x = __import__("os")')).toContain('import statement');
  });

  it('never show text that stands in a string of the function', () => {
    for (const code of [
      'def compute(data):\n    return "SECRET".x(open)\n',
      'def compute(data):\n    return "{SECRET.x}".format(1)\n',
      'def compute(data):\n    return "SECRET\n',
      'class A(x["SECRET"]): pass\ndef compute(data):\n    return 1\n',
    ]) {
      const refusals = admission.all(draftOf(code));
      expect(refusals.length).toBeGreaterThan(0);
      expect(JSON.stringify(refusals)).not.toContain('SECRET');
    }
  });

  it('are at most MAX_REFUSALS, the first ones', () => {
    const all = admission.all(draftOf(`${'a;'.repeat(1_000)}\n`));
    expect(all.length).toBe(MAX_REFUSALS);
    expect(all.at(-1)?.column).toBe((MAX_REFUSALS - 2) * 2);
  });

  it('name what they met in printable ASCII, cut to 64 characters', () => {
    expect(escapedName('é\n"x\\')).toBe('\\u{e9}\\u{a}"x\\u{5c}');
    const [refusal] = admission.all(draftOf(`import ${'a'.repeat(500)}\ndef compute(data):\n    return 1\n`));
    expect(refusal?.rule).toBe(`import: ${'a'.repeat(56)}`);
  });
});

describe("names of the host language's own objects", () => {
  const words = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__', '__defineGetter__'];
  it.each(words)('%s is a name like any other, everywhere', (word) => {
    const code = [
      `import ${word}`,
      `from ${word} import ${word}`,
      `from math import ${word} as x`,
      `x = ${word}.${word}`,
      `@${word}\ndef f(): pass`,
      `@x\ndef f(): pass`,
      `class A(${word}.${word}, x): ${word}: int`,
      `match x:\n    case ${word}.x(${word}=1): pass`,
      `x = '{${word}}'.format(${word}=1)`,
      `from ${word} import y\n@y\nclass B(y): pass\nx = y()`,
    ];
    for (const line of code) {
      for (const { hint } of admission.all(draftOf(`${line}\ndef compute(data):\n    return 1\n`))) {
        expect(hint).not.toMatch(/native code|\[object/);
      }
    }
    expect(admission.all(draftOf(`def compute(${word.replace(/^__/, '')}):\n    return 1\n`))).toEqual([]);
  });
});

describe('hints lead to an admitted function', () => {
  it.each([
    ['import numpy as np', 'numpy', 'import statistics as np'],
    ['x = getattr({}, "a")', 'data.get', 'x = {}.get("a")'],
    ['x = type(int).__name__', 'isinstance', 'x = isinstance(1, int)'],
    ['x = "{0.real}".format(1)', 'f-string', 'x = f"{(1).real}"'],
    ['import operator\nx = operator.attrgetter("y")', 'lambda row: row.name', 'x = lambda row: row.y'],
  ])('%s', (refused, word, instead) => {
    const [refusal] = admission.all(draftOf(`${refused}\ndef compute(data):\n    return 1\n`));
    if (word !== 'numpy') expect(refusal?.hint).toContain(word);
    else expect(refusal?.hint).toContain('statistics');
    expect(admission.all(draftOf(`${instead}\ndef compute(data):\n    return 1\n`))).toEqual([]);
  });
});

describe('the module table', () => {
  it('alone decides what may be imported: a new module needs no code', async () => {
    const own = await createAdmission({ mylib: ['good'], 'mylib.sub': ['fine'] });
    const refused = (code: string) =>
      own.all(draftOf(`${code}\ndef compute(data):\n    return 1\n`)).map(({ rule }) => rule);
    expect(refused('import mylib\nx = mylib.good')).toEqual([]);
    expect(refused('import mylib.sub\nx = mylib.sub.fine')).toEqual([]);
    expect(refused('from mylib import sub as s\nx = s.fine')).toEqual([]);
    expect(refused('from mylib.sub import fine')).toEqual([]);
    expect(refused('import mylib\nx = mylib.bad')).toEqual(['attribute: mylib.bad']);
    expect(refused('import mylib\nx = mylib.sub')).toEqual(['attribute: mylib.sub']);
    expect(refused('from mylib.sub import good')).toEqual(['import: mylib.sub.good']);
    expect(refused('import math')).toEqual(['import: math']);
  });
});

describe('bounds', () => {
  const bodies: readonly (readonly [string, string])[] = [
    ['deep brackets', '('.repeat(60_000)],
    ['balanced brackets', `x = ${'('.repeat(30_000)}${')'.repeat(30_000)}`],
    ['a chain of 10,000 texts', `x = ${Array(10_000).fill("'a'").join('+')}`],
    ['a line of 60,000 tokens', 'a;'.repeat(30_000)],
    ['a line of 20,000 elements', `x = [${'1,'.repeat(19_000)}]`],
    ['signs', `x = ${'-'.repeat(60_000)}1`],
    ['lambdas', `x = ${'lambda:'.repeat(9_000)}1`],
    ['open f-strings', `x = ${'f"{'.repeat(15_000)}`],
    ['open tuples', '(a, '.repeat(16_000)],
    ['continued lines', `x = 1 + ${'\\\n'.repeat(30_000)}1`],
    ['bindings and loads of one name', 'a=a\n'.repeat(6_000)],
    ['imports of one module', 'import math\n'.repeat(2_500) + 'math.pi\n'.repeat(2_500)],
    ['many types of one name', 't=type(x)\n'.repeat(1_500) + 't.__name__\n'.repeat(1_500)],
    [
      'a chain of classes',
      Array.from({ length: 1_300 }, (_, i) => `class A${i + 1}(A${i}): pass`).join('\n'),
    ],
    ['nested functions', Array.from({ length: 95 }, (_, i) => `${' '.repeat(i)}def f():`).join('\n')],
    ['braces of a format string', `x = "${'{:'.repeat(20_000)}".format(1)`],
    ['escapes of a format string', `x = "${'\\x7b'.repeat(15_000)}".format(1)`],
    ['backslashes', `x = "${'\\\\'.repeat(30_000)}"`],
    ['blanks', `x = 1${' '.repeat(60_000)}`],
    ['empty lines', '\n'.repeat(60_000)],
    ['an unpaired surrogate', 'x = "\ud800"'],
  ];

  it.each(bodies)('%s neither hang nor overflow', (_title, body) => {
    const source = `${body}\ndef compute(data):\n    return 1\n`;
    const before = process.cpuUsage();
    admission.all(raw(source));
    const { user, system } = process.cpuUsage(before);
    // The aim is 100 ms; this only catches what grows with the square of the source.
    expect(user + system).toBeLessThan(2_000_000);
  });

  it('an ordinary source of 60 KiB is admitted', () => {
    const helper = (i: number) =>
      `def f${i}(rows):\n    return sum(r["price"] * r["qty"] for r in rows if r["id"] > ${i})\n\n`;
    const source = `${Array.from({ length: 700 }, (_, i) => helper(i)).join('')}def compute(data):\n    return f1(data)\n`;
    expect(source.length).toBeGreaterThan(58_000);
    expect(admission.all(draftOf(source))).toEqual([]);
  });

  it('the parser refuses characters between tokens that are no blanks', async () => {
    const parser = await createPythonParser();
    expect(parser.parse('x = 1\n').ok).toBe(true);
    expect(parser.parse('x =\u200b1\n')).toMatchObject({ ok: false, fault: 'stray_text', offset: 3 });
    expect(parser.parse('x = 1\n\ufeff')).toMatchObject({ ok: false, fault: 'stray_text', offset: 6 });
  });

  it('a parser that was stopped or broken parses the next source as ever', () => {
    admission.all(raw('(a, '.repeat(16_000)));
    admission.all(raw('('.repeat(60_000)));
    expect(admission.all(draftOf(FUNCTION))).toEqual([]);
  });
});

describe('resource use is left to the limits', () => {
  it.each([
    'while True:\n        pass',
    'return 10 ** 10 ** 10',
    'return "a" * 10 ** 12',
    'import re\n    return re.match(r"^(a+)+$", "a" * 40 + "b")',
    'return compute(data)',
    'return [0] * 10 ** 11',
  ])('%s', (body) => {
    expect(admission.all(draftOf(`def compute(data):\n    ${body}\n`))).toEqual([]);
  });
});
