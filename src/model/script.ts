import { type Static, Type } from '@sinclair/typebox';
import { faultChecker } from '../contract/faults.ts';
import { parseJson } from './formats/format.ts';
import type { ScriptedAnswer } from './scripted-answer.ts';
import type { ScriptedRequest } from './scripted-request.ts';

const closed = { additionalProperties: false };
/** The most text of a reply: more than any function that is admitted, and more than the service reads. */
const MAX_TEXT = 2 * 1024 * 1024;
const words = Type.String({ maxLength: MAX_TEXT });
const delay = { delay_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000 })) };

const ReplySchema = Type.Union([
  words,
  Type.Object({ code: words, ...delay }, closed),
  Type.Object({ refusal: words, ...delay }, closed),
  Type.Object({ status: Type.Integer({ minimum: 200, maximum: 599 }), ...delay }, closed),
  Type.Object({ hang: Type.Literal(true) }, closed),
  Type.Object({ delay_ms: Type.Integer({ minimum: 0, maximum: 3_600_000 }) }, closed),
]);

/** A script: the first entry that fits a request answers it, one reply after the other, the last one from then on. */
const ScriptSchema = Type.Array(
  Type.Object(
    {
      when: Type.Optional(words),
      when_refused: Type.Optional(words),
      replies: Type.Array(ReplySchema, { minItems: 1, maxItems: 1000 }),
    },
    closed,
  ),
  { minItems: 1, maxItems: 10_000 },
);
export type Script = Static<typeof ScriptSchema>;

const check = faultChecker(ScriptSchema);

/** Every fault of a script, each naming the field and the fix. */
export interface ScriptFaults {
  readonly kind: 'faults';
  readonly faults: readonly string[];
}

/** Reads a script out of its JSON text. */
export function readScript(text: string): Script | ScriptFaults {
  const document = parseJson(text);
  if (document === undefined) {
    return { kind: 'faults', faults: ['the script is not valid JSON'] };
  }
  const faults = check(document).map(({ field, fix }) => `${field || 'the script'} ${fix}`);
  return faults.length > 0 ? { kind: 'faults', faults } : (document as Script);
}

/**
 * Answers from a script. An entry fits where its `when` stands in the task (the user part) and its `when_refused` in
 * what the model was last told of its function; one that is left out fits always. No entry fits: 404.
 */
export function answersOf(script: Script): (request: ScriptedRequest) => ScriptedAnswer {
  const turns = script.map(() => 0);
  return ({ user, refusal }) => {
    const at = script.findIndex(
      ({ when = '', when_refused: told }) =>
        user.includes(when) && (told === undefined || (refusal !== '' && refusal.includes(told))),
    );
    const entry = script[at];
    if (entry === undefined) {
      return { status: 404, body: '{"error":"no entry of the script fits"}' };
    }
    const turn = turns[at] ?? 0;
    turns[at] = turn + 1;
    return answerOf(entry.replies[Math.min(turn, entry.replies.length - 1)] ?? '');
  };
}

function answerOf(reply: Script[number]['replies'][number]): ScriptedAnswer {
  if (typeof reply === 'string' || 'hang' in reply) {
    return reply;
  }
  const { delay_ms: delayMs, ...rest } = reply;
  const waits = delayMs === undefined ? {} : { delayMs };
  if ('code' in rest) return { text: rest.code, ...waits };
  if ('refusal' in rest) return { refusal: rest.refusal, ...waits };
  if ('status' in rest) return { status: rest.status, ...waits };
  return { text: '', ...waits };
}
