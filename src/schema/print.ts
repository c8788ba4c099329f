import type { JsonObject } from '../contract/result-type.ts';

/**
 * A schema as JSON text for a model: one property a line, the rest on one line. `<` is escaped except in the labels
 * of hidden names, so that no text of a declared schema can look like the end of the block it stands in.
 */
export function printSchema(schema: JsonObject, indent = ''): string {
  const parts = Object.entries(schema).map(
    ([keyword, value]) => `"${keyword}":${printed(keyword, value, indent)}`,
  );
  return `{${parts.join(',')}}`;
}

function printed(keyword: string, value: unknown, indent: string): string {
  if (keyword === 'properties') {
    const inner = `${indent} `;
    const lines = Object.entries(value as JsonObject).map(
      ([name, schema]) => `\n${inner}${JSON.stringify(name)}:${printSchema(schema as JsonObject, inner)}`,
    );
    return lines.length === 0 ? '{}' : `{${lines.join(',')}\n${indent}}`;
  }
  if (keyword === 'items' || keyword === 'additionalProperties')
    return printSchema(value as JsonObject, indent);
  if (keyword === 'anyOf') {
    return `[${(value as readonly JsonObject[]).map((schema) => printSchema(schema, indent)).join(',')}]`;
  }
  const text = JSON.stringify(value);
  // Declared schemas are the caller's own text.
  return keyword === '$defs' ? text.replaceAll('<', '\\u003c') : text;
}
