import { MAX_TREE_DEPTH, MAX_TREE_NODES, type ParseFault } from '../parse.ts';
import type { RuleText } from './rule.ts';

interface FaultText {
  readonly name: string;
  readonly message: string;
  readonly hint: string;
}

/** What a source that has no usable tree is told, by fault. */
export const PARSE_FAULTS: Readonly<Record<ParseFault, FaultText>> = {
  broken: {
    name: 'not Python',
    message: 'This is not valid Python.',
    hint: 'Answer with Python 3 code only, without prose, and check brackets, quotes, colons and indentation here.',
  },
  missing: {
    name: 'not Python',
    message: 'Something is missing here: this is not valid Python.',
    hint: 'Add the missing bracket, colon, name or expression.',
  },
  stray_text: {
    name: 'stray character',
    message: 'A character stands here that is no part of Python.',
    hint: 'Use ordinary spaces between words and remove the character.',
  },
  too_deep: {
    name: 'nesting',
    message: `The code nests deeper than ${MAX_TREE_DEPTH} levels.`,
    hint: 'Split the expression or the blocks: use variables, helper functions, and "".join for long texts.',
  },
  too_large: {
    name: 'size',
    message: `The code has more than ${MAX_TREE_NODES} elements.`,
    hint: 'Write a shorter function: read tables and constants from data instead of writing them out.',
  },
  too_slow: {
    name: 'parse time',
    message: 'The code takes too long to parse.',
    hint: 'Write a shorter and simpler function.',
  },
};

export const parseFaults: RuleText = {
  id: 'syntax',
  title: 'Code that does not parse',
  reason: 'What cannot be read whole cannot be judged. Depth, size and time of a parse are bounded.',
  hint: PARSE_FAULTS.broken.hint,
};
