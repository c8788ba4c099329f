import { DEF_COMPUTE } from './python-text.ts';

const TAGS = 'think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad';
const OPENING = new RegExp(`^\\s*<(${TAGS})>`, 'i');
const CLOSING = new RegExp(`</(${TAGS})>`, 'gi');

/**
 * A reply without the reasoning that some models put before their answer in tags (`<think>…</think>`); the
 * opening tag may be missing, as chat templates swallow it. Cuts at the last closing tag that still has
 * `def compute` after it, so neither a draft in the reasoning nor a tag in the function's own text misleads.
 * Reasoning that never ends leaves nothing: a draft inside it is not an answer.
 */
export function withoutReasoning(text: string): string {
  const opened = OPENING.exec(text);
  const closings = [...text.matchAll(CLOSING)];
  if (opened === null && closings.length === 0) return text;
  const lastDef = lastIndexOfDef(text);
  const last = closings.filter(({ index }) => index < lastDef).at(-1);
  if (last !== undefined && (opened !== null || standsAlone(text, last))) {
    return text.slice(last.index + last[0].length);
  }
  if (opened === null) return text;
  const first = closings[0];
  return first === undefined ? '' : text.slice(first.index + first[0].length);
}

/** Whether the tag ends its line, as a tag of the chat template does and one inside a string does not. */
function standsAlone(text: string, tag: RegExpExecArray): boolean {
  return /^[ \t]*(?:\n|$)/.test(text.slice(tag.index + tag[0].length, tag.index + tag[0].length + 200));
}

function lastIndexOfDef(text: string): number {
  const all = [...text.matchAll(new RegExp(DEF_COMPUTE.source, 'gm'))];
  return all.at(-1)?.index ?? -1;
}
