import { type JsonFault, jsonFault, packFault, unpackFault } from './fault.ts';
import { hasByteOrderMark, scanValue } from './scan.ts';
import { Scanner, skipSpace } from './scanner.ts';
import type { Shape } from './shape.ts';
import { finishShape, Place, PlaceBudget } from './shape-builder.ts';
import { scanString, unescapeText } from './text.ts';
import { wordsOf } from './words.ts';

export interface BodyLimits {
  /** Most containers around a value, counted from each source's own root; the envelope has the same bound. */
  readonly maxDepth: number;
  /** Most elements of `sources`; default 100. Past it the body is refused. */
  readonly maxSources?: number;
  /** Most bytes apart from source data; default 2 MiB. They become objects, so they are held small. */
  readonly maxEnvelopeBytes?: number;
}

/** The data of one element of `sources`: its JSON text as it came, and its shape. */
export interface BodySource {
  /** Position in `sources`. An element that has both members has two entries; the HTTP layer refuses it. */
  readonly index: number;
  readonly via: 'result' | 'result_json';
  /** A part of the body, without a copy; a fresh buffer only for a `result_json` that had escapes. */
  readonly bytes: Buffer;
  readonly shape: Shape;
}

export interface ReadBody {
  readonly kind: 'body';
  /** The body as JSON.parse gives it, with every `result` replaced by null and every `result_json` by "". */
  readonly envelope: unknown;
  readonly sources: readonly BodySource[];
}

/** Places that the shapes of one body may have together; a source takes at most half of what is left. */
const BODY_PLACES_MAX = 12_000;
/** What a source may have in any case. */
const SOURCE_PLACES_MIN = 64;
/** Places for finding duplicates in the envelope. */
const ENVELOPE_PLACES_MAX = 1_000;
/** Members of the body itself and of an element of `sources`; they are a handful. */
const MEMBERS_MAX = 1_000;

/**
 * Reads a request body in one pass. Source data is cut out as bytes and never becomes a JavaScript value; the rest
 * is parsed. Refused: anything scanValue refuses, too many sources, an envelope past its bound.
 */
export function readBody(bytes: Buffer, limits: BodyLimits): ReadBody | JsonFault {
  return new BodyScan(bytes, limits).read();
}

/** Scans a member's value from a position; answers the position after it or a packed fault. */
type MemberReader = (name: string, pos: number) => number;

class BodyScan {
  private readonly bytes: Buffer;
  private readonly words: DataView;
  private readonly limits: BodyLimits;
  private readonly envelopeScanner: Scanner;
  private placesLeft = BODY_PLACES_MAX;
  private readonly sources: BodySource[] = [];
  /** Spans of the body that the envelope replaces, in order. */
  private readonly cuts: { readonly from: number; readonly to: number; readonly text: string }[] = [];
  /** What a fault's message names, as far as the scan has got. */
  private place = 'the body';
  private source: number | null = null;
  /** A fault inside the text of a `result_json`, whose offsets are its own. */
  private textFault: JsonFault | null = null;

  constructor(bytes: Buffer, limits: BodyLimits) {
    this.bytes = bytes;
    this.words = wordsOf(bytes);
    this.limits = limits;
    this.envelopeScanner = new Scanner(bytes, new PlaceBudget(ENVELOPE_PLACES_MAX));
  }

  read(): ReadBody | JsonFault {
    const { bytes } = this;
    if (hasByteOrderMark(bytes)) return this.fault(packFault('byte_order_mark', 0));
    const start = skipSpace(bytes, 0, bytes.length);
    const after =
      bytes[start] === 0x7b
        ? this.members(start, (name, pos) => (name === 'sources' ? this.sourceList(pos) : this.plain(pos, 1)))
        : this.plain(start, 0);
    if (after < 0) return this.textFault ?? this.fault(after);
    const rest = skipSpace(bytes, after, bytes.length);
    if (rest < bytes.length) return this.fault(packFault('not_json', rest));
    const envelopeBytes = this.cuts.reduce((sum, cut) => sum - (cut.to - cut.from), bytes.length);
    if (envelopeBytes > (this.limits.maxEnvelopeBytes ?? 2 * 1024 * 1024)) {
      return this.fault(packFault('envelope_too_large', 0));
    }
    return { kind: 'body', envelope: JSON.parse(this.envelopeText()), sources: this.sources };
  }

  private envelopeText(): string {
    let text = '';
    let from = 0;
    for (const cut of this.cuts) {
      text += this.bytes.toString('utf8', from, cut.from) + cut.text;
      from = cut.to;
    }
    return text + this.bytes.toString('utf8', from);
  }

  private fault(packed: number): JsonFault {
    const { code, offset } = unpackFault(packed);
    return jsonFault(code, this.place, offset, this.source);
  }

  /** A value of the envelope that lies in `outer` containers. */
  private plain(pos: number, outer: number): number {
    return this.envelopeScanner.value(pos, new Place(), Math.max(0, this.limits.maxDepth - outer));
  }

  private sourceList(pos: number): number {
    const { bytes } = this;
    const start = skipSpace(bytes, pos, bytes.length);
    if (bytes[start] !== 0x5b) return this.plain(start, 1);
    let at = skipSpace(bytes, start + 1, bytes.length);
    if (bytes[at] === 0x5d) return at + 1;
    for (let index = 0; ; index++) {
      if (index >= (this.limits.maxSources ?? 100)) {
        this.place = 'sources';
        return packFault('too_many_sources', at);
      }
      this.source = index;
      this.place = `sources[${index}]`;
      at = bytes[at] === 0x7b ? this.sourceObject(at, index) : this.plain(at, 2);
      if (at < 0) return at;
      this.source = null;
      this.place = 'the body';
      at = skipSpace(bytes, at, bytes.length);
      if (bytes[at] === 0x5d) return at + 1;
      if (bytes[at] !== 0x2c) return packFault('not_json', at);
      at = skipSpace(bytes, at + 1, bytes.length);
    }
  }

  private sourceObject(pos: number, index: number): number {
    return this.members(pos, (name, valueAt) => {
      if (name !== 'result' && name !== 'result_json') return this.plain(valueAt, 3);
      const start = skipSpace(this.bytes, valueAt, this.bytes.length);
      this.place = `sources[${index}].${name}`;
      let after: number;
      if (name === 'result') after = this.result(start, index);
      else if (this.bytes[start] === 0x22) after = this.resultJson(start, index);
      // Not a string: it stays in the envelope, where the HTTP layer refuses its type.
      else after = this.plain(start, 3);
      if (after >= 0) this.place = `sources[${index}]`;
      return after;
    });
  }

  private result(start: number, index: number): number {
    const places = this.sourcePlaces();
    const budget = new PlaceBudget(places);
    const root = new Place();
    const after = new Scanner(this.bytes, budget).value(start, root, this.limits.maxDepth);
    if (after < 0) return after;
    this.placesLeft -= places - budget.left;
    this.cuts.push({ from: start, to: after, text: 'null' });
    const bytes = this.bytes.subarray(start, after);
    this.sources.push({ index, via: 'result', bytes, shape: finishShape(root, budget) });
    return after;
  }

  private resultJson(start: number, index: number): number {
    const after = scanString(this.bytes, this.words, start + 1, this.bytes.length);
    if (after < 0) return after;
    let text = this.bytes.subarray(start + 1, after - 1);
    if (text.includes(0x5c)) {
      const out = Buffer.allocUnsafeSlow(text.length);
      const length = unescapeText(text, 0, text.length, out, true);
      if (length < 0) return packFault('bad_utf8', start + 1 + unpackFault(length).offset);
      text = out.subarray(0, length);
    }
    const { place } = this;
    const scanned = scanValue(text, {
      maxDepth: this.limits.maxDepth,
      shape: true,
      place,
      source: index,
      places: this.sourcePlaces(),
    });
    if (scanned.kind === 'fault') {
      this.textFault = scanned;
      return packFault(scanned.code, start);
    }
    this.placesLeft -= countPlaces(scanned.shape as Shape);
    this.cuts.push({ from: start, to: after, text: '""' });
    this.sources.push({ index, via: 'result_json', bytes: text, shape: scanned.shape as Shape });
    return after;
  }

  private sourcePlaces(): number {
    return Math.max(SOURCE_PLACES_MIN, Math.floor(this.placesLeft / 2));
  }

  /** Reads the object at `pos`, member by member. Names are short and few here, so they become strings. */
  private members(pos: number, read: MemberReader): number {
    const { bytes } = this;
    const seen = new Set<string>();
    let at = skipSpace(bytes, pos + 1, bytes.length);
    if (bytes[at] === 0x7d) return at + 1;
    for (;;) {
      if (bytes[at] !== 0x22) return packFault('not_json', at);
      const keyEnd = scanString(bytes, this.words, at + 1, bytes.length);
      if (keyEnd < 0) return keyEnd;
      const name = JSON.parse(bytes.toString('utf8', at, keyEnd)) as string;
      if (seen.has(name)) return packFault('duplicate_key', at);
      if (seen.size >= MEMBERS_MAX) return packFault('too_many_keys', at);
      seen.add(name);
      const colon = skipSpace(bytes, keyEnd, bytes.length);
      if (bytes[colon] !== 0x3a) return packFault('not_json', colon);
      at = read(name, colon + 1);
      if (at < 0) return at;
      at = skipSpace(bytes, at, bytes.length);
      if (bytes[at] === 0x7d) return at + 1;
      if (bytes[at] !== 0x2c) return packFault('not_json', at);
      at = skipSpace(bytes, at + 1, bytes.length);
    }
  }
}

function countPlaces(shape: Shape): number {
  let count = 1;
  if (shape.items !== null) count += countPlaces(shape.items);
  for (const field of shape.object?.fields ?? []) count += countPlaces(field.shape);
  if (shape.object?.rest) count += countPlaces(shape.object.rest);
  return count;
}
