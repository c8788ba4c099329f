import { Ajv2020, MissingRefError, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject } from '../contract/result-type.ts';

/** What a `result_schema` compiles to, or the fault: it names keywords, never a name or value of the schema. */
export type Compiled =
  | { readonly kind: 'compiled'; readonly validate: ValidateFunction }
  | { readonly kind: 'fault'; readonly message: string };

export type SchemaCompiler = (schema: JsonObject) => Compiled;

/** Values of every type: a reference loop that never goes into the value overflows on at least one of them. */
const PROBES: readonly unknown[] = [null, true, 0, '', [], {}];

/**
 * Makes a compiler of JSON Schema 2020-12. The draft's own schema is compiled once; each result schema gets an
 * ajv of its own, since ajv keeps what a schema names itself (`$id`, `$anchor`) and would let one meet another's.
 */
export function createSchemaCompiler(): SchemaCompiler {
  const drafts = new Ajv2020({ strict: false, logger: false });
  // Compiles the draft's schema now, so that the first caller's deadline does not pay for it.
  drafts.validateSchema({});
  return (schema) => {
    if (drafts.validateSchema(schema) !== true) {
      const error = drafts.errors?.[0];
      return fault(`${placeInSchema(error?.instancePath ?? '')} ${error?.message ?? 'is not valid'}`);
    }
    try {
      const validate = compileAlone(schema);
      for (const probe of PROBES) {
        validate(probe);
      }
      return { kind: 'compiled', validate };
    } catch (error) {
      return fault(compileFault(error));
    }
  };
}

function compileAlone(schema: JsonObject): ValidateFunction {
  const ajv = new Ajv2020({
    meta: false,
    validateSchema: false,
    // Not strict: unknown keywords and formats are annotations (ajv knows no format of its own), and an integer past
    // the double range, which reads as Infinity, is still a number.
    strict: false,
    logger: false,
    messages: false,
    // Without it `required: ["constructor"]` is met by every object's prototype.
    ownProperties: true,
    // 19.99 is a multiple of 0.01 to everyone but a double.
    multipleOfPrecision: 8,
  });
  return ajv.compile(schema);
}

function fault(text: string): Compiled {
  return { kind: 'fault', message: text };
}

function compileFault(error: unknown): string {
  if (error instanceof MissingRefError) {
    return 'result_schema: $ref points to nothing; refer to something below $defs by "#/$defs/…"';
  }
  if (error instanceof RangeError) {
    return 'result_schema: $ref leads back to itself without going into the value; break the loop';
  }
  if (error instanceof SyntaxError && error.message.startsWith('Invalid regular expression')) {
    return 'result_schema: pattern must be a regular expression of ECMA-262 (with the u flag)';
  }
  const text = error instanceof Error ? error.message : '';
  for (const [words, message] of COMPILE_FAULTS) {
    if (text.includes(words)) {
      return `result_schema: ${message}`;
    }
  }
  return 'result_schema cannot be compiled as JSON Schema 2020-12; simplify it';
}

/** Of ajv's own words, as it has no codes; a test holds each. */
const COMPILE_FAULTS: readonly (readonly [words: string, message: string])[] = [
  [
    '"nullable" cannot be used without "type"',
    'nullable is not a keyword of JSON Schema; write type: ["…", "null"], or nullable beside result_schema',
  ],
  ['keyword "id"', 'id is not a keyword of JSON Schema 2020-12; write $id, or leave it out'],
  ['resolves to more than one schema', '$anchor or $id stands twice; give every one a name of its own'],
  ['percent-encoding', '$ref must be a URI reference: % only before two hex digits'],
];

const KEYWORDS = new Set(
  (
    '$schema $id $ref $anchor $dynamicRef $dynamicAnchor $vocabulary $comment $defs definitions type enum const ' +
    'multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern format items ' +
    'prefixItems contains maxContains minContains maxItems minItems uniqueItems unevaluatedItems properties ' +
    'patternProperties additionalProperties propertyNames unevaluatedProperties required maxProperties ' +
    'minProperties dependentRequired dependentSchemas dependencies allOf anyOf oneOf not if then else title ' +
    'description default examples deprecated readOnly writeOnly contentEncoding contentMediaType contentSchema'
  ).split(' '),
);

/** A JSON pointer into the schema with keywords only: `result_schema.properties.*.minimum`. */
function placeInSchema(pointer: string): string {
  const shown = pointer
    .split('/')
    .slice(1)
    .map((part) => (KEYWORDS.has(part) ? part : '*'));
  return ['result_schema', ...shown].join('.');
}
