import type { JsonObject, ResultAsk, ResultType } from '../contract/result-type.ts';
import type { SourceSchema } from '../schema/describe.ts';
import type { Pack } from './pack.ts';
import { resultSchemaText, resultText } from './result-text.ts';
import { fillTemplate } from './template.ts';

declare const promptBrand: unique symbol;

/** What is sent to a model: made from an instruction and a SourceSchema only, so that no value can stand in it. */
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

/**
 * Renders the prompt. Pure: the same arguments give the same bytes. Instruction and result_schema go in
 * verbatim; the schema stands in one delimited block that nothing inside it can close.
 */
export function renderPrompt(pack: Pack, ask: Ask, schema: SourceSchema): Prompt {
  const values = {
    instruction: ask.instruction,
    schema: schemaBlock(schema.text),
    result: resultText(ask.result),
    result_schema: resultSchemaText(ask.result),
    modules: moduleLines(pack),
  };
  const system = fillTemplate(pack.system, values);
  const user = fillTemplate(pack.user, values);
  return Object.freeze({
    text: `${system}\n\n${user}`,
    system,
    user,
    schema: schema.json,
    packDigest: pack.digest,
    resultType: ask.result.type,
    nullable: ask.result.nullable,
    resultSchema: ask.result.schema,
  }) as Prompt;
}

/** In JSON a slash may be written `\/`: the same schema, and no text in it can end the block early. */
function schemaBlock(text: string): string {
  return `<data_schema>\n${text.replaceAll('</', '<\\/')}\n</data_schema>`;
}

/** `module: name, name, …`, one line a module, in the order of the pack. */
function moduleLines(pack: Pack): string {
  return Object.entries(pack.modules)
    .map(([module, names]) => `${module}: ${names.join(', ')}`)
    .join('\n');
}
