import { describe, expect, test } from 'vitest';
import { draftOf, readReply } from '../../../src/model/reply.ts';

const F = 'def compute(data):\n    return len(data["orders"])\n';
const FENCE = '```';
const TILDES = '~~~';

/** Text of the function in a reply, or the reason that there is none. */
function read(reply: string): string {
  const found = readReply(reply);
  return 'kind' in found ? found.reason : found.source;
}

const DOCSTRING = `def compute(data):
    """Count the orders.

    ${FENCE}python
    compute({"orders": []})
    ${FENCE}

    Returns an int.
    """
    return len(data["orders"])
`;
const BACKTICKS = `import re

def compute(data):
    # strip ${FENCE} fences from the notes
    pattern = re.compile(r"${FENCE}\\w*")
    tick = '\`'
    quoted = "\\"${FENCE}"
    text = """
${FENCE}
inside a string
${FENCE}
"""
    return [pattern.sub("", n) + tick + text for n in data["notes"]]
`;
const IMPORTS = `from statistics import mean

LIMIT: int = 10


def compute(data):
    return mean(o["price"] for o in data["orders"][:LIMIT])
`;

/** Replies as models write them, each with the function that must come out. */
const REPLIES: [string, string, string][] = [
  ['bare code', F, F],
  ['bare code without a newline at the end', F.trimEnd(), F],
  ['bare code with many newlines at the end', `${F}\n\n\n`, F],
  ['bare code with CRLF', F.replaceAll('\n', '\r\n'), F],
  ['bare code with imports and constants', IMPORTS, IMPORTS],
  ['bare code after a blank line', `\n${F}`, `\n${F}`],
  ['bare code that begins with a comment', `# Count orders\n${F}`, `# Count orders\n${F}`],
  ['bare code that begins with a docstring', `"""Counts."""\n${F}`, `"""Counts."""\n${F}`],
  ['one fence', `${FENCE}\n${F}${FENCE}`, F],
  ['one fence with a language', `${FENCE}python\n${F}${FENCE}\n`, F],
  ['a language with a space before it', `${FENCE} python \n${F}${FENCE} \n`, F],
  ['a language in capitals', `${FENCE}Python3\n${F}${FENCE}`, F],
  ['a language with attributes', `${FENCE}{.python .numberLines}\n${F}${FENCE}`, F],
  ['a language with a title', `${FENCE}python title="compute.py"\n${F}${FENCE}`, F],
  ['a fence with CRLF', `${FENCE}python\r\n${F.replaceAll('\n', '\r\n')}${FENCE}\r\n`, F],
  ['a fence of tildes', `${TILDES}python\n${F}${TILDES}`, F],
  ['a fence of four backticks', `${FENCE}\`python\n${F}${FENCE}\``, F],
  ['prose before the fence', `Here's the function:\n\n${FENCE}python\n${F}${FENCE}`, F],
  [
    'prose before and after',
    `Sure! It's simple:\n\n${FENCE}python\n${F}${FENCE}\n\n**How it works**\n- It doesn't fail.`,
    F,
  ],
  ['a heading and a fence', `# Solution\n\n${FENCE}python\n${F}${FENCE}\n`, F],
  ['the fence on the line of the prose', `Here you go: ${FENCE}python\n${F}${FENCE}`, F],
  [
    'an indented fence, as in a list',
    `1. The function:\n\n   ${FENCE}python\n${F.replaceAll(/^(?=.)/gm, '   ')}   ${FENCE}\n\n2. Done.`,
    F,
  ],
  ['an indented function in a fence', `${FENCE}\n${F.replaceAll(/^(?=.)/gm, '    ')}${FENCE}`, F],
  ['an indented fence around code that is not', `  ${FENCE}python\n${F}  ${FENCE}`, F],
  ['a closing fence on the last line of code', `${FENCE}python\n${F.trimEnd()}${FENCE}`, F],
  ['a fence that never closes', `Here it is:\n${FENCE}python\n${F}`, F],
  ['an opening fence alone on top', `${FENCE}python\n${F.trimEnd()}`, F],
  ['a closing fence alone at the end', `${F}${FENCE}\n`, F],
  ['a fence in one line', `${FENCE}def compute(data): return 1${FENCE}`, 'def compute(data): return 1\n'],
  ['fences inside a docstring, bare', DOCSTRING, DOCSTRING],
  ['fences inside a docstring, fenced', `${FENCE}python\n${DOCSTRING}${FENCE}\nThat's it.`, DOCSTRING],
  ['backticks in strings and comments', `${FENCE}python\n${BACKTICKS}${FENCE}`, BACKTICKS],
  [
    'an example before the function',
    `Given\n${FENCE}json\n{"it's": "data"}\n${FENCE}\nuse\n${FENCE}python\n${F}${FENCE}`,
    F,
  ],
  [
    'a usage example after the function',
    `${FENCE}python\n${F}${FENCE}\nExample:\n${FENCE}python\nprint(compute({"orders": []}))\n${FENCE}`,
    F,
  ],
  [
    'a first try and a corrected one',
    `${FENCE}python\ndef compute(data):\n    return 0\n${FENCE}\nWait, that's wrong:\n${FENCE}python\n${F}${FENCE}`,
    F,
  ],
  [
    'a whole fence and one cut off',
    `${FENCE}python\n${F}${FENCE}\nOr:\n${FENCE}python\ndef compute(data):\n    ret`,
    F,
  ],
  ['a first fence that is not closed', `${FENCE}python\nimport math\n\n${FENCE}python\n${F}${FENCE}`, F],
  [
    'a fence of Markdown around it all',
    `${FENCE}markdown\nIt's this:\n\n${FENCE}python\n${F}${FENCE}\n${FENCE}`,
    F,
  ],
  ['bare code, then an explanation', `${F}\nThis returns the number of orders.\n`, F],
  ['bare code, then a fenced example', `${F}\nExample:\n${FENCE}python\ncompute({})\n${FENCE}\n`, F],
  [
    'bare code, then an apostrophe and a fence',
    `${F}\nIt's simple.\n\nExample:\n${FENCE}python\ncompute({})\n${FENCE}\n`,
    F,
  ],
  [
    'quotes in another language before the function',
    `${FENCE}text\n''' it's\n${FENCE}\n${FENCE}python\n${F}${FENCE}\nThat's it.\n${FENCE}text\nok\n${FENCE}`,
    F,
  ],
  ['prose, then bare code', `Here is the function you asked for:\n\n${IMPORTS}`, IMPORTS],
  ['prose, then an indented block', `Here it is:\n\n${F.replaceAll(/^(?=.)/gm, '    ')}\nLet me know!`, F],
  ['an answer tag', `<answer>\n${F}</answer>`, F],
  ['CodeLlama tags', `[PYTHON]\n${F}[/PYTHON]`, F],
  ['a copied language label', `python\n${F}`, F],
  ['a JSON object', JSON.stringify({ code: `${FENCE}python\n${F}${FENCE}` }), F],
  ['reasoning, then a fence', `<think>\nOrders is a list.\n</think>\n\n${FENCE}python\n${F}${FENCE}`, F],
  ['reasoning, then bare code', `<think>It's a list.</think>\n${F}`, `\n${F}`],
  [
    'reasoning with a draft in it',
    `<thinking>\n${FENCE}python\ndef compute(data):\n    return 0\n${FENCE}\nNo.\n</thinking>\n${FENCE}python\n${F}${FENCE}`,
    F,
  ],
  [
    'reasoning whose opening tag is missing',
    `First, def compute(data): return 0? No.\n</think>\n\n${FENCE}python\n${F}${FENCE}`,
    F,
  ],
  ['empty reasoning', `<think>\n\n</think>\n\n${FENCE}\n${F}${FENCE}`, F],
  [
    'quotes that never close',
    `${FENCE}python\n${F.trimEnd()}  """oops\n${FENCE}\nIt's done.`,
    `${F.trimEnd()}  """oops\n`,
  ],
  ['prose in another script', `Вот функция:\n\n${FENCE}python\n${F}${FENCE}\nГотово.`, F],
  ['prose in another script, no fence', `这是 函数：\n${F}`, F],
];

describe('the function out of a reply', () => {
  test.each(REPLIES)('%s', (_name, reply, expected) => {
    expect(read(reply)).toBe(expected);
  });

  test('a tag inside the code is not the end of reasoning', () => {
    const code = 'def compute(data):\n    return [t.split("</think>")[0] for t in data["t"]]\n';
    expect(read(code)).toBe(code);
    expect(read(`<think>hm</think>${FENCE}\n${code}${FENCE}`)).toBe(code);
    const early = `TAG = "</think>"\n\n\n${F}`;
    expect(read(early)).toBe(early);
  });
});

describe('code without def compute is still judged by admission', () => {
  test.each([
    ['bare', 'import os\nos.remove("x")', 'import os\nos.remove("x")\n'],
    [
      'fenced',
      `${FENCE}python\ndef solve(data):\n    return 1\n${FENCE}`,
      'def solve(data):\n    return 1\n',
    ],
    ['a call', 'exec("import os")', 'exec("import os")\n'],
    ['a lambda', 'compute = lambda data: 1', 'compute = lambda data: 1\n'],
  ])('%s', (_name, reply, expected) => {
    expect(read(reply)).toBe(expected);
  });
});

describe('what stands beside a function and is not surely prose is kept, for admission to see', () => {
  test.each([
    '\ufeffimport os',
    'ｉmport os',
    'exec("import os")',
    'exec "import os please"',
    'print >> out, "some words here."',
    'x = 1; import os',
    'import os\rprint(1)',
    '\u2028import os',
  ])('%j', (line) => {
    expect(read(`${line}\n${F}`)).toBe(`${line}\n${F}`);
    expect(read(`${F}${line}`)).toBe(`${F}${line}\n`);
  });
});

describe('no function', () => {
  test.each([
    ['nothing', '', 'empty_answer'],
    ['white space', ' \r\n\t\n', 'empty_answer'],
    ['a refusal', "I'm sorry, but I can't help with that.", 'no_function'],
    ['a question', 'Which orders do you mean?\n\n- paid\n- open', 'no_function'],
    ['a heading and prose', '# Sorry\n\nThe schema has no prices.', 'no_function'],
    ['only another language', `${FENCE}json\n{"a": 1}\n${FENCE}`, 'no_function'],
    ['reasoning only', '<think>\nIt is a list.\n</think>\n', 'empty_answer'],
    ['reasoning that never ends', `<think>\nPerhaps\n${FENCE}python\n${F}${FENCE}\nbut`, 'empty_answer'],
    ['too much text', 'a'.repeat(512 * 1024 + 1), 'answer_too_large'],
  ])('%s', (_name, reply, reason) => {
    expect(read(reply)).toBe(reason);
  });
});

describe('hostile replies are read in linear time', () => {
  const SIZE = 512 * 1024;
  test.each([
    ['backticks', '`'.repeat(SIZE)],
    ['backticks before a letter', `${'`'.repeat(SIZE - 2)}a\``],
    ['backtick pairs', '``` a ``` '.repeat(SIZE / 10)],
    ['fences', `${FENCE}\n`.repeat(SIZE / 4)],
    ['openings', `${FENCE}python\n`.repeat(SIZE / 10)],
    ['newlines', `x${'\n'.repeat(SIZE - 2)}x`],
    ['spaces', `x${' '.repeat(SIZE - 2)}x`],
    ['indented lines', '    a\n'.repeat(SIZE / 6)],
    ['quotes', '"'.repeat(SIZE)],
    ['apostrophes in prose', "it's ".repeat(SIZE / 5)],
    ['closing tags', '</think>'.repeat(SIZE / 8)],
    ['definitions', 'def compute\n'.repeat(SIZE / 12)],
    ['tildes', `${TILDES}\n`.repeat(SIZE / 4)],
    ['tilde run', `def x(\n${'~'.repeat(SIZE - 20)}`],
    ['one word', `import ${'a'.repeat(SIZE - 10)}`],
    ['one assignment', `a${'[a]'.repeat(SIZE / 3 - 10)} `],
    ['prose lines', 'It is so.\n'.repeat(SIZE / 10)],
    ['brackets', '['.repeat(SIZE)],
    ['open braces', '{'.repeat(SIZE)],
  ])('half a MiB of %s', { timeout: 5_000 }, (_name, reply) => {
    readReply(reply);
    draftOf(reply);
  });
});

describe('code a caller hands in', () => {
  test('keeps everything but CRLF and the newlines at the end', () => {
    expect(draftOf('def compute(data):\r\n\treturn 1\r\n\r\n').source).toBe(
      'def compute(data):\n\treturn 1\n',
    );
    expect(draftOf('\ufeffdef compute(data):\r    return 1  ').source).toBe(
      '\ufeffdef compute(data):\r    return 1  \n',
    );
    expect(draftOf('').source).toBe('\n');
  });

  test('loses a fence around the whole of it, and no other', () => {
    expect(draftOf(`\n${FENCE}python\n${F}${FENCE}\n`).source).toBe(F);
    expect(draftOf(`Hello\n${FENCE}python\n${F}${FENCE}`).source).toBe(
      `Hello\n${FENCE}python\n${F}${FENCE}\n`,
    );
    expect(draftOf(DOCSTRING).source).toBe(DOCSTRING);
  });
});
