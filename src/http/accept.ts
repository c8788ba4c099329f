import { type Problem, problem } from '../contract/problem.ts';

/** The forms that an answer of `/v1/compute` can have. */
export type AnswerForm = 'json' | 'event-stream';

interface Range {
  readonly type: string;
  /** From 0, which refuses, to 1. */
  readonly q: number;
}

/** How much a media type is wanted, and how exactly it was named: 2 in full, 1 by its first half, 0 by neither. */
interface Wanted {
  readonly q: number;
  readonly exact: number;
}

const UNWANTED: Wanted = { q: 0, exact: -1 };

/** The route whose answer may be a stream of events. */
const EVENT_ROUTE = '/v1/compute';

/** Why nothing can be answered in a form that is accepted; null: something can. */
export function acceptProblem(accept: string | undefined, route: string): Problem | null {
  if (route === EVENT_ROUTE) {
    return answerForm(accept) === null
      ? problem('not_acceptable', 'Accept application/json or text/event-stream.')
      : null;
  }
  return acceptsJson(accept) ? null : problem('not_acceptable', 'Accept application/json.');
}

/** Whether an Accept header lets the answer be JSON: absent, or by a range of which the most exact one counts. */
export function acceptsJson(accept: string | undefined): boolean {
  return jsonWanted(rangesOf(accept)).q > 0;
}

/**
 * The form that an Accept header asks for (RFC 9110, section 12.5.1); null: neither can be given. The larger q wins;
 * of equal ones the form that is named more exactly, then JSON. Absent: JSON.
 */
export function answerForm(accept: string | undefined): AnswerForm | null {
  const ranges = rangesOf(accept);
  const json = wanted(ranges, 'application/json');
  const stream = wanted(ranges, 'text/event-stream');
  if (stream.q > json.q || (stream.q > 0 && stream.q === json.q && stream.exact > json.exact)) {
    return 'event-stream';
  }
  return jsonWanted(ranges).q > 0 ? 'json' : null;
}

/** Whoever names problems takes JSON. */
function jsonWanted(ranges: readonly Range[]): Wanted {
  const problems = wanted(ranges, 'application/problem+json');
  return problems.exact === 2 && problems.q > 0 ? problems : wanted(ranges, 'application/json');
}

function wanted(ranges: readonly Range[], type: string): Wanted {
  const names = ['*/*', `${type.split('/')[0]}/*`, type];
  return ranges.reduce((best, range) => {
    const exact = names.indexOf(range.type);
    return exact > best.exact ? { q: range.q, exact } : best;
  }, UNWANTED);
}

function rangesOf(accept: string | undefined): Range[] {
  if (accept === undefined || accept.trim() === '') {
    return [{ type: '*/*', q: 1 }];
  }
  return accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const q = parameters.map((parameter) => /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(parameter)?.[1]);
    return { type, q: Number(q.find((value) => value !== undefined) ?? 1) };
  });
}
