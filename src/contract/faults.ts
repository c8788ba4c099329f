import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler, type ValueError, ValueErrorType } from '@sinclair/typebox/compiler';

/** A place in a document and what to do about it. Never holds a value of the document. */
export interface FieldFault {
  /** Such as `sources[0].name`; "" is the document itself. */
  readonly field: string;
  readonly fix: string;
}

/** Checks a document against a schema: at most `limit` faults, each naming the field and the fix. */
export type Checker = (document: unknown, limit?: number) => readonly FieldFault[];

/** Compiles a checker. The texts come from the schema only, so no value of the document can stand in them. */
export function faultChecker(schema: TSchema): Checker {
  const compiled = TypeCompiler.Compile(schema);
  return (document, limit = 20) => {
    if (compiled.Check(document)) {
      return [];
    }
    const seen = new Map<string, string>();
    for (const error of narrowed(compiled.Errors(document))) {
      const field = fieldName(error.path, schema);
      // A missing member is reported as missing and again as of the wrong type: the first word is the clear one.
      if (!seen.has(field)) {
        seen.set(field, fixFor(error.type, error.schema, error.message));
      }
      if (seen.size >= limit) {
        break;
      }
    }
    return [...seen].map(([field, fix]) => ({ field, fix }));
  };
}

/** The errors, with that of a union replaced by those of the one choice that is of the value's JSON type. */
function* narrowed(errors: Iterable<ValueError>): Generator<ValueError> {
  for (const error of errors) {
    const choices: readonly TSchema[] =
      error.type === ValueErrorType.Union ? ((error.schema.anyOf ?? []) as TSchema[]) : [];
    const kind = Array.isArray(error.value) ? 'array' : error.value === null ? 'null' : typeof error.value;
    const meant = choices.flatMap(({ type, const: only }, index) =>
      type === kind && only === undefined ? [index] : [],
    );
    const inner = meant.length === 1 ? error.errors[meant[0] as number] : undefined;
    if (inner === undefined) {
      yield error;
    } else {
      yield* narrowed(inner);
    }
  }
}

/**
 * `/sources/0/name` as `sources[0].name`. A member's name shows only if the schema declares it at that place, since
 * another one may be a key of data that got there by mistake.
 */
function fieldName(pointer: string, root: TSchema): string {
  let name = '';
  let place: readonly TSchema[] = [root];
  for (const part of pointer.split('/').slice(1)) {
    place = place.flatMap((schema) => [schema, ...((schema.anyOf ?? []) as TSchema[])]);
    const items = place.flatMap((schema) => (schema.type === 'array' ? [schema.items as TSchema] : []));
    if (items.length > 0 && /^\d+$/.test(part)) {
      name += `[${part}]`;
      place = items;
      continue;
    }
    place = place.flatMap(({ properties }) =>
      Object.hasOwn(properties ?? {}, part) ? [properties[part]] : [],
    );
    const shown = place.length > 0 ? part : '<member>';
    name += name === '' ? shown : `.${shown}`;
  }
  return name;
}

function fixFor(type: ValueErrorType, schema: TSchema, message: string): string {
  switch (type) {
    case ValueErrorType.ObjectAdditionalProperties:
      return `is not a known member; remove it (known: ${Object.keys(schema.properties ?? {}).join(', ')})`;
    case ValueErrorType.ObjectRequiredProperty:
      return 'is required';
    case ValueErrorType.Union:
      return `must be ${unionText(schema)}`;
    case ValueErrorType.StringMinLength:
      return schema.minLength === 1
        ? 'must not be empty'
        : `must have at least ${schema.minLength} characters`;
    case ValueErrorType.StringMaxLength:
      return `must have at most ${schema.maxLength} characters`;
    case ValueErrorType.StringPattern:
      return `must match ${schema.pattern}`;
    default:
      return `is not valid: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
  }
}

function unionText(schema: TSchema): string {
  const members: TSchema[] = schema.anyOf ?? [];
  return members
    .map((member) =>
      member.const !== undefined ? JSON.stringify(member.const) : `a JSON ${member.type ?? 'value'}`,
    )
    .join(' or ');
}

/** Faults as one line for an error's detail. */
export function faultText(faults: readonly FieldFault[]): string {
  return faults
    .map(({ field, fix }) => (field === '' ? `The document ${fix}` : `${field} ${fix}`))
    .join('; ');
}
