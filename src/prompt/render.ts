import type { JsonObject, ResultAsk, ResultType } from '../contract/result-type.ts';
import type { SourceSchema } from '../schema/describe.ts';
import type { Pack } from './pack.ts';

declare const promptBrand: unique symbol;

/** What is sent to a model: made from an instruction and a SourceSchema, so that no value can stand in it. */
export interface Prompt {
  readonly [promptBrand]: true;
  /** `system`, a blank line, `user`. */
  readonly text: string;
  readonly system: string;
  readonly user: string;
  /** The schema as JSON. */
  readonly schema: JsonObject;
  /** `sha256:…` of the pack it was rendered with. */
  readonly packDigest: string;
  readonly resultType: ResultType;
  readonly nullable: boolean;
  /** As the caller gave it. */
  readonly resultSchema: JsonObject | null;
}

/** What the caller asks for. */
export interface Ask {
  readonly instruction: string;
  readonly result: ResultAsk;
}

/** Renders the prompt. Pure: the same arguments give the same bytes. */
export function renderPrompt(pack: Pack, ask: Ask, schema: SourceSchema): Prompt {
  const system = pack.system;
  const user = `${pack.user}\n${ask.instruction}\n${schema.text}`;
  return {
    text: `${system}\n\n${user}`,
    system,
    user,
    schema: schema.json,
    packDigest: pack.digest,
    resultType: ask.result.type,
    nullable: ask.result.nullable,
    resultSchema: ask.result.schema,
  } as Prompt;
}
