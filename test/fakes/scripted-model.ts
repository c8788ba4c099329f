import type { ScriptedAnswer } from '../../src/model/scripted-answer.ts';

export {
  type ScriptedModel,
  type ScriptedModelOptions,
  startScriptedModel,
} from '../../src/model/scripted.ts';
export { modelAnswer, type ScriptedAnswer } from '../../src/model/scripted-answer.ts';
export type { ScriptedRequest } from '../../src/model/scripted-request.ts';

/** A script that gives one answer after the other, the last one from then on. */
export function answersInTurn(...answers: readonly ScriptedAnswer[]): () => ScriptedAnswer {
  let turn = 0;
  return () => {
    const answer = answers[Math.min(turn, answers.length - 1)];
    turn += 1;
    return answer ?? { status: 500 };
  };
}
