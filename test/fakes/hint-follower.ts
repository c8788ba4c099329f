/** A place in a source and what a refusal says to write there, as they stand in the text that a model is sent. */
interface Told {
  readonly line: number;
  readonly column: number;
  readonly rule: string;
  readonly hint: string;
}

/** Reads the first refusal out of the message to the model; null if it is none. */
export function firstTold(text: string): Told | null {
  const match =
    /^1\. Line (\d+), column (\d+).*\n {3}Refused by (.*?)\. .*\n {3}Instead: (.*)$/m.exec(text) ?? null;
  return match === null
    ? null
    : { line: Number(match[1]), column: Number(match[2]), rule: match[3] ?? '', hint: match[4] ?? '' };
}

type Edit = (line: string, column: number, told: Told) => string;

/** Edits the rest of the refused line, from the refused column on. */
const rest =
  (from: RegExp | string, to: string): Edit =>
  (line, column) => {
    const chars = [...line];
    return chars.slice(0, column).join('') + chars.slice(column).join('').replace(from, to);
  };
const wholeLine =
  (from: RegExp, to: string): Edit =>
  (line) =>
    line.replace(from, to);
const indentOf = (line: string) => /^\s*/.exec(line)?.[0] ?? '';
const nameOf = (rule: string) => rule.split(/[ .]/).at(-1) ?? '';

/** What each hint says, done to the line that was refused. */
const EDITS: readonly (readonly [hint: RegExp, edit: Edit])[] = [
  [/^Remove the character/, (line, column) => [...line].filter((_, at) => at !== column).join('')],
  [/^Remove the comment/, (line, column) => line.slice(0, column)],
  [/^Write a shorter function: read tables/, () => 'x = []'],
  [/^Split the expression/, wholeLine(/\(+1\)+/, '(1)')],
  [/^Write an ordinary def/, rest('async ', '')],
  [/^Return the value, or keep it in a local variable/, (line) => `${indentOf(line)}pass`],
  [/^Use except\.$/, wholeLine(/except\*/, 'except')],
  [/^Multiply with loops and sum/, wholeLine(/(\S+) @ (\S+)/, 'sum(a * b for a, b in [($1, $2)])')],
  [/^Remove the \[T\] after the name/, wholeLine(/\[\w+\]/, '')],
  [/^Write the name in its plain form/, (line) => line.normalize('NFKC')],
  [/^Write numbers as in Python 3/, wholeLine(/\b0(?=\d)|u(?=r')/, '')],
  [/^Use !r, !s or !a/, rest(/![a-z]/, '!r')],
  [/^Write pass in it/, (line) => `${line}\n${indentOf(line)}    pass`],
  [/^Indent with four spaces/, wholeLine(/^\s+/, '    ')],
  [
    /^Move the return into a function/,
    (line) => `${indentOf(line)}def moved(*args):\n${indentOf(line)}    ${line.trim()}`,
  ],
  [/^Remove the keyword/, wholeLine(/, \w+=\w+/, '')],
  [/^Remove the base class/, wholeLine(/\(\w+\)/, '')],
  [/^Use only dataclass, property/, () => ''],
  [/^Define the function once, at the top level/, (line) => `${line}\n\ndef compute(data):\n    return 1`],
  [/^Give the other one another name/, rest('compute', 'other')],
  [/^Name the base class directly/, rest('()', '')],
  [/^Write class Color\(Enum\): with the members/, () => 'class Color(Enum):\n    RED = 1'],
  [/^Remove it: .*Admitted modules: /, (line, _column, { rule }) => withoutImport(line, nameOf(rule))],
  [/^Remove the import\. Admitted modules: /, () => ''],
  [/^Remove the import\.$/, () => ''],
  [/^Admitted of math: acos, /, memberOfMath],
  [/^Remove the (?:break|continue)\.$/, () => ''],
  [/^Remove the backslash at the end/, (line) => line.replace(/\\$/, '')],
  [/^Write copy\.deepcopy\(value\) with one argument/, wholeLine(/\((\w+), .*\)/, '($1)')],
  [/^Remove the import, or use another name/, (line, column) => `${line.slice(0, column)})`],
  [/^Parse with json\.loads/, rest('eval', 'int')],
  [/^Use another name, such as open_price for open/, rest(/\b(open|\w+)\b/, '$1_price')],
  [/^Use a name without two leading underscores; __name__/, rest(/__\w+__/, '__name__')],
  [/^Use isinstance\(x, …\), or type\(x\)/, rest(/.*/, 'isinstance(1, int)')],
  [/^Use super\(\)\.__init__/, rest(/super\(\).*/, 'super().__init__()')],
  [/^Call print\(…\) plainly/, wholeLine(/, flush=True/, '')],
  [/^Use Type\[\.\.\.\] in annotations only/, wholeLine(/(\w+) = typing.Type/, '$1: typing.Type[int] = int')],
  [/^Use an f-string with the values written out/, rest(/\w+\.\w+\(\)/, "f'{1}'")],
  [/^Write module\.name where the member is used/, moduleMember],
  [/^Use type\(x\)\.__name__ or isinstance/, rest(/__class__/, 'real')],
  [/^Use public attributes and methods/, wholeLine(/\.\w+/, '.real')],
  [/^Use another name\.$/, rest(/\w+/, 'another')],
  [/^Use another name, such as layout/, rest(/\w+/, 'layout')],
  [/^Set attributes on self.*Else use a dictionary/, wholeLine(/^(\w+)\.(\w+) = (.*)$/, '$1 = {"$2": $3}')],
  [/^Define only arithmetic.*name others plainly/, rest(/__\w+__/, 'lookup')],
  [/^Use a name, Name\.attr, a literal, or compare in a guard/, rest(/[\w.]+:/, 'other if other == 1:')],
  [/^Use an f-string, or fields such as \{\}/, formatted],
  [
    /^Use "([^"]+)"/,
    (line, column, told) => rest(/"\w+"/, /"[^"]+"/.exec(told.hint)?.[0] ?? '')(line, column, told),
  ],
];

/** Edits that a line is not enough for. */
const SOURCE_EDITS: readonly (readonly [hint: RegExp, edit: (source: string, told: Told) => string])[] = [
  [
    /^Use parentheses around an expression/,
    (source) =>
      source.replace(
        /^(\w+ = )((?:.*\\\n)+.*)$/m,
        (_, name: string, value: string) => `${name}(${value.replaceAll('\\\n', '\n')})`,
      ),
  ],
  [/^Define the name before it is used/, (source, { rule }) => `${nameOf(rule)} = None\n${source}`],
  [
    /^Write @dataclass over the class/,
    (source) =>
      source.replace(
        /^(?:from dataclasses|import dataclasses).*\n[\s\S]*?(?=\ndef compute)/,
        'from dataclasses import dataclass, field\n\n@dataclass\nclass Item:\n    name: list = field(default_factory=list)\n',
      ),
  ],
  [/^Answer with Python 3 code only/, mended],
];

function withoutImport(line: string, name: string): string {
  const kept = line
    .replace(/^import /, '')
    .split(/, */)
    .filter((each) => each !== name);
  return kept.length === 0 ? '' : `import ${kept.join(', ')}`;
}

/** The member refused, written as one that the hint names. */
function memberOfMath(line: string, column: number): string {
  return line.startsWith('  ') ? `${line.slice(0, column)}acos)` : line.replace(/math\.[\w.]+/, 'math.acos');
}

function moduleMember(line: string, column: number): string {
  return line.startsWith('import ')
    ? line.replace(/^import (\w+)$/, 'from $1 import pi')
    : rest(/(\w+)/, '$1.pi')(line, column, { line: 0, column, rule: '', hint: '' });
}

function formatted(line: string): string {
  return line.includes("'{")
    ? line.replace(/\{[^}]*\}/, '{}')
    : line.replace(/(\w+)\.format\((.*)\)/, "f'{$1}{$2}'");
}

/** Brackets, operators and blanks put right on the refused line. */
function mended(source: string, { line }: Told): string {
  const lines = source.split('\n');
  const text = (lines[line - 1] ?? '').replaceAll('\u00a0', ' ').replace('= =', '=');
  const open = text.split('(').length - text.split(')').length;
  lines[line - 1] = text + ')'.repeat(Math.max(0, open));
  return lines.join('\n');
}

/**
 * Does to a source what the hint of its first refusal says, word by word, as a model would that thinks of nothing
 * itself. Throws on a hint that nothing here follows.
 */
export function followHint(source: string, text: string): string {
  const told = firstTold(text);
  if (told === null) throw new Error(`no refusal stands in: ${text.slice(0, 500)}`);
  const whole = SOURCE_EDITS.find(([hint]) => hint.test(told.hint));
  if (whole !== undefined) return whole[1](source, told);
  const edit = EDITS.find(([hint]) => hint.test(told.hint))?.[1];
  if (edit === undefined) throw new Error(`nothing follows the hint: ${told.hint}`);
  const lines = source.split('\n');
  lines[told.line - 1] = edit(lines[told.line - 1] ?? '', told.column, told);
  return lines.join('\n');
}
