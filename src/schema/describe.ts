import type { JsonObject } from '../contract/result-type.ts';
import { type DescribedSource, layPlaces, type Places } from './places.ts';
import { printSchema } from './print.ts';
import { renderPlaces } from './render.ts';
import { stripDeclared } from './strip-declared.ts';

export type { DescribedSource } from './places.ts';

declare const schemaBrand: unique symbol;

/** Field names and JSON types of the sources, never a value. Only `describeSources` makes one. */
export interface SourceSchema {
  readonly [schemaBrand]: true;
  /** JSON Schema of the object that the function gets: one property a source. */
  readonly json: JsonObject;
  /** The same as compact text. */
  readonly text: string;
}

export interface DescribeLimits {
  /** Most bytes of `text`, default 48 KiB; below 1 KiB even the names of the sources may be cut. */
  readonly maxBytes?: number;
  /** Most field names in all, default 2,000. */
  readonly maxNames?: number;
}

const DECLARED = 'properties: as found in the data; $defs: as the tools declare it';
/** A cut schema need not fill its room to the byte: so many guesses, or so much of the room, are enough. */
const GUESSES_MAX = 12;
const CLOSE = 0.95;
/** No place is printed in fewer bytes: places past this bound could not be shown. */
const PLACE_MIN_BYTES = 16;

/**
 * Describes sources. Pure and deterministic: fields stand in order of first appearance, and equal shapes give
 * equal bytes. What is too large is cut level by level from the deepest up, and says so; declared schemas stand
 * besides in `$defs`, as long as they take at most half of the room.
 */
export function describeSources(
  sources: readonly DescribedSource[],
  limits: DescribeLimits = {},
): SourceSchema {
  const maxBytes = limits.maxBytes ?? 48 * 1024;
  const places = layPlaces(sources, limits.maxNames ?? 2_000, Math.ceil(maxBytes / PLACE_MIN_BYTES));
  const definitions = declaredDefinitions(sources, Math.floor(maxBytes / 2));
  const best = largestThatFits(places, definitions, maxBytes);
  return best as SourceSchema;
}

/** Declared schemas by source name, without values, in order, as long as they fit. */
function declaredDefinitions(sources: readonly DescribedSource[], maxBytes: number): JsonObject {
  let room = maxBytes;
  const entries: [string, unknown][] = [];
  for (const { name, declared } of sources) {
    if (declared === null) continue;
    const stripped = stripDeclared(declared);
    const bytes = Buffer.byteLength(printSchema({ $defs: { [name]: stripped } }));
    const fits = bytes <= room;
    if (fits) room -= bytes;
    entries.push([name, fits ? stripped : { description: 'cut: too large to be shown' }]);
  }
  return entries.length === 0 ? {} : { $defs: Object.fromEntries(entries) };
}

function withDefinitions(json: JsonObject, definitions: JsonObject): JsonObject {
  if (definitions.$defs === undefined) return json;
  const { type, description, ...rest } = json;
  const notes = [...(description === undefined ? [] : [description]), DECLARED];
  return { type, description: notes.join('; '), ...rest, ...definitions };
}

/** The whole rendering if it is at most `maxBytes` long, else one with nearly as many places as fit. */
function largestThatFits(
  places: Places,
  definitions: JsonObject,
  maxBytes: number,
): { readonly json: JsonObject; readonly text: string } {
  function rendered(count: number) {
    const json = withDefinitions(renderPlaces(places, count), definitions);
    return { json, text: printSchema(json) };
  }
  const whole = rendered(places.places.length);
  let best = rendered(0);
  let [fits, tooMany] = [0, places.places.length];
  let [fitsBytes, tooManyBytes] = [Buffer.byteLength(best.text), Buffer.byteLength(whole.text)];
  if (tooManyBytes <= maxBytes) return whole;
  // Bytes grow about evenly with places, so a few guesses come near; each is a rendering of about maxBytes.
  for (let guess = 0; guess < GUESSES_MAX && tooMany - fits > 1 && fitsBytes < CLOSE * maxBytes; guess++) {
    const share = (maxBytes - fitsBytes) / (tooManyBytes - fitsBytes);
    const count = Math.min(tooMany - 1, Math.max(fits + 1, fits + Math.floor((tooMany - fits) * share)));
    const tried = rendered(count);
    const bytes = Buffer.byteLength(tried.text);
    if (bytes <= maxBytes) [best, fits, fitsBytes] = [tried, count, bytes];
    else [tooMany, tooManyBytes] = [count, bytes];
  }
  return best;
}
