/** One small change of a source text. */
export interface Mutation {
  readonly at: number;
  readonly length: number;
  readonly by: string;
  readonly what: string;
}

/** What is changed, and to what: conditions, comparisons, returned truth, entries of word lists, guards. */
const SWAPS: readonly (readonly [pattern: RegExp, by: string, what: string])[] = [
  [/ === /g, ' !== ', '=== to !=='],
  [/ !== /g, ' === ', '!== to ==='],
  [/ && /g, ' || ', '&& to ||'],
  [/ \|\| /g, ' && ', '|| to &&'],
  [/ > /g, ' >= ', '> to >='],
  [/ < /g, ' <= ', '< to <='],
  [/ >= /g, ' > ', '>= to >'],
  [/ <= /g, ' < ', '<= to <'],
  [/\breturn true;/g, 'return false;', 'true to false'],
  [/\breturn false;/g, 'return true;', 'false to true'],
  [/\bif \((?!false)/g, 'if (false && ', 'condition never'],
  [/\.every\(/g, '.some(', 'every to some'],
  [/\.some\(/g, '.every(', 'some to every'],
  [/^( +)refuse\(/gm, '$1void (', 'refusal dropped'],
  [/\breturn (?=[a-z][\w.]*\()/g, 'return !', 'result negated'],
];

/** Every mutation of a file's text, comments and texts of rules left out. */
export function mutationsOf(text: string): Mutation[] {
  const found: Mutation[] = [];
  const skipped = skippedRanges(text);
  const isSkipped = (at: number) => skipped.some(([from, to]) => at >= from && at < to);
  for (const [pattern, by, what] of SWAPS) {
    for (const match of text.matchAll(pattern)) {
      if (isSkipped(match.index)) continue;
      found.push({ at: match.index, length: match[0].length, by: by.replace('$1', match[1] ?? ''), what });
    }
  }
  // One word out of each list of words.
  for (const list of text.matchAll(/words\(\s*`([^`]*)`|'([^'\n]*)'\.split\(' '\)/g)) {
    const body = list[1] ?? list[2] ?? '';
    const start = list.index + list[0].indexOf(body);
    for (const word of body.matchAll(/\S+/g)) {
      found.push({ at: start + word.index, length: word[0].length, by: '', what: `without ${word[0]}` });
    }
  }
  return found.sort((a, b) => a.at - b.at);
}

/** Comments, imports, and the titles, reasons and hints of rules. */
function skippedRanges(text: string): [number, number][] {
  const ranges: [number, number][] = [];
  for (const pattern of [
    /\/\*\*[\s\S]*?\*\//g,
    /\/\/.*$/gm,
    /^import .*$/gm,
    /^ {2}(?:title|reason|hint):[\s\S]*?,\n(?= {2}\w)/gm,
  ]) {
    for (const match of text.matchAll(pattern)) ranges.push([match.index, match.index + match[0].length]);
  }
  return ranges;
}
