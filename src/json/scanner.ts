import { packFault } from './fault.ts';
import { KeySpans } from './key-spans.ts';
import { scanFraction, scanInteger } from './number.ts';
import { TYPE } from './shape.ts';
import {
  FIELDS_MAX,
  Field,
  NAME_MAX_BYTES,
  ObjectPlace,
  type Place,
  type PlaceBudget,
} from './shape-builder.ts';
import { scanString, unescapeText } from './text.ts';
import { isKeyAt, wordsOf } from './words.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Position of the first byte at or after `pos` that is not JSON white space. */
export function skipSpace(bytes: Uint8Array, pos: number, end: number): number {
  let at = pos;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
    at++;
  }
  return at;
}

function isWord(bytes: Uint8Array, pos: number, word: string): boolean {
  for (let index = 0; index < word.length; index++) {
    if (bytes[pos + index] !== word.charCodeAt(index)) return false;
  }
  return true;
}

/**
 * Checks JSON values in one pass over their bytes (RFC 8259, strict UTF-8, unique keys, depth) and merges what it
 * meets into places. It never recurses and makes nothing for a record whose keys are known.
 */
export class Scanner {
  private readonly bytes: Uint8Array;
  private readonly words: DataView;
  private readonly end: number;
  private readonly budget: PlaceBudget;
  /** Secret to the run, so that nobody can choose keys that collide. */
  private readonly seed = (Math.random() * 2 ** 31) | 0;
  private objects = 0;
  /** One entry a depth: the place of the open container, and what is known of the open object. */
  private readonly places: Place[] = [];
  private readonly inObject: boolean[] = [];
  private readonly numbers: number[] = [];
  private readonly nextField: number[] = [];
  private readonly spans: (KeySpans | null | undefined)[] = [];
  private scratch = new Uint8Array(0);
  /** Where the value of the key stands that `key` read last. */
  private keyPlace: Place;

  constructor(bytes: Uint8Array, budget: PlaceBudget) {
    this.bytes = bytes;
    this.words = wordsOf(bytes);
    this.end = bytes.length;
    this.budget = budget;
    this.keyPlace = budget.sink;
  }

  /** Scans the value at or after `start` into `root`. Answers the position after it, or a packed fault. */
  value(start: number, root: Place, maxDepth: number): number {
    const { bytes, words, end } = this;
    let pos = start;
    let depth = 0;
    let place = root;
    for (;;) {
      pos = skipSpace(bytes, pos, end);
      const first = bytes[pos];
      if (first === QUOTE) {
        pos = scanString(bytes, words, pos + 1, end);
        if (pos < 0) return pos;
        place.types |= TYPE.string;
      } else if (first === OPEN_OBJECT) {
        if (++depth > maxDepth) return packFault('too_deep', pos);
        pos = this.openObject(place, depth, pos + 1);
        if (bytes[pos] === CLOSE_OBJECT) {
          (place.object as ObjectPlace).empty++;
          depth--;
          pos++;
        } else {
          pos = this.key(pos, depth);
          if (pos < 0) return pos;
          place = this.keyPlace;
          continue;
        }
      } else if (first === OPEN_ARRAY) {
        if (++depth > maxDepth) return packFault('too_deep', pos);
        place.types |= TYPE.array;
        pos = skipSpace(bytes, pos + 1, end);
        if (bytes[pos] === CLOSE_ARRAY) {
          depth--;
          pos++;
        } else {
          this.places[depth] = place;
          this.inObject[depth] = false;
          place.items ??= this.budget.place(depth);
          place = place.items;
          continue;
        }
      } else {
        pos = this.scalar(pos, place);
        if (pos < 0) return pos;
      }
      // A value has ended: close containers until one goes on.
      for (;;) {
        if (depth === 0) return pos;
        pos = skipSpace(bytes, pos, end);
        const next = bytes[pos];
        if (this.inObject[depth] === true) {
          if (next === COMMA) {
            pos = this.key(skipSpace(bytes, pos + 1, end), depth);
            if (pos < 0) return pos;
            place = this.keyPlace;
            break;
          }
          if (next !== CLOSE_OBJECT) return packFault('not_json', pos);
          this.spans[depth] = null;
        } else {
          if (next === COMMA) {
            place = (this.places[depth] as Place).items as Place;
            pos++;
            break;
          }
          if (next !== CLOSE_ARRAY) return packFault('not_json', pos);
        }
        depth--;
        pos++;
      }
    }
  }

  private scalar(pos: number, place: Place): number {
    const { bytes, end } = this;
    const first = bytes[pos];
    if (first === 0x2d || (first !== undefined && first >= 0x30 && first <= 0x39)) {
      if (first === 0x2d && isWord(bytes, pos + 1, 'Infinity')) return packFault('not_finite', pos);
      const next = scanInteger(bytes, pos, end);
      if (next < 0) return next;
      const after = bytes[next];
      if (after === 0x2e || after === 0x65 || after === 0x45) {
        place.types |= TYPE.number;
        return scanFraction(bytes, pos, next, end);
      }
      place.types |= TYPE.integer;
      return next;
    }
    if (first === 0x74 && isWord(bytes, pos, 'true')) {
      place.types |= TYPE.boolean;
      return pos + 4;
    }
    if (first === 0x66 && isWord(bytes, pos, 'false')) {
      place.types |= TYPE.boolean;
      return pos + 5;
    }
    if (first === 0x6e && isWord(bytes, pos, 'null')) {
      place.types |= TYPE.null;
      return pos + 4;
    }
    if (isWord(bytes, pos, 'NaN') || isWord(bytes, pos, 'Infinity')) return packFault('not_finite', pos);
    return packFault('not_json', Math.min(pos, end));
  }

  private openObject(place: Place, depth: number, pos: number): number {
    place.types |= TYPE.object;
    place.object ??= new ObjectPlace();
    place.object.records++;
    this.places[depth] = place;
    this.inObject[depth] = true;
    this.numbers[depth] = this.objects++;
    this.nextField[depth] = 0;
    return skipSpace(this.bytes, pos, this.end);
  }

  /** Reads a key and its colon, sets `keyPlace`. Records repeat their keys in order, so the next one is tried first. */
  private key(pos: number, depth: number): number {
    const { bytes, words, end } = this;
    if (bytes[pos] !== QUOTE) return packFault('not_json', Math.min(pos, end));
    const start = pos + 1;
    const object = (this.places[depth] as Place).object as ObjectPlace;
    const expected = object.fields[this.nextField[depth] as number];
    if (expected?.plain === true && isKeyAt(words, start, end, expected.words)) {
      if (expected.lastObject === this.numbers[depth]) return packFault('duplicate_key', pos);
      this.take(expected, depth);
      return this.colon(start + expected.bytes.length + 1);
    }
    const after = scanString(bytes, words, start, end);
    if (after < 0) return after;
    const packed = this.otherKey(object, start, after - 1, depth);
    return packed < 0 ? packed : this.colon(after);
  }

  private colon(pos: number): number {
    const at = skipSpace(this.bytes, pos, this.end);
    return this.bytes[at] === COLON ? at + 1 : packFault('not_json', at);
  }

  private take(field: Field, depth: number): void {
    field.lastObject = this.numbers[depth] as number;
    field.seen++;
    this.nextField[depth] = field.index + 1;
    this.keyPlace = field.place;
  }

  /** Finds or makes the field of a key that was not the expected one. 0, or a packed fault. */
  private otherKey(object: ObjectPlace, keyStart: number, keyEnd: number, depth: number): number {
    let from = this.bytes;
    let start = keyStart;
    let end = keyEnd;
    let hash = this.seed;
    for (let at = start; at < end; at++) {
      const byte = from[at] as number;
      if (byte === BACKSLASH) {
        if (this.scratch.length < keyEnd - keyStart) this.scratch = new Uint8Array((keyEnd - keyStart) * 2);
        from = this.scratch;
        start = 0;
        end = unescapeText(this.bytes, keyStart, keyEnd, from, false);
        // Hash the unescaped key from its start.
        hash = this.seed;
        at = -1;
        for (let index = 0; index < end; index++) hash = mix(hash, from[index] as number);
        break;
      }
      hash = mix(hash, byte);
    }
    const known = object.find(from, start, end, hash);
    if (known !== null) {
      if (known.lastObject === this.numbers[depth]) return packFault('duplicate_key', keyStart - 1);
      this.take(known, depth);
      return 0;
    }
    if (
      object.fields.length < FIELDS_MAX &&
      end - start <= NAME_MAX_BYTES &&
      object.rest !== this.budget.sink
    ) {
      const place = this.budget.place(depth);
      if (place !== this.budget.sink) {
        const field = new Field(from.slice(start, end), hash, place);
        object.add(field);
        this.take(field, depth);
        return 0;
      }
    }
    object.rest ??= this.budget.place(depth);
    this.keyPlace = object.rest;
    this.spans[depth] ??= new KeySpans();
    const verdict = (this.spans[depth] as KeySpans).add(this.bytes, from, start, end, hash);
    if (verdict === 'new') return 0;
    return packFault(verdict === 'duplicate' ? 'duplicate_key' : 'too_many_keys', keyStart - 1);
  }
}

function mix(hash: number, byte: number): number {
  const mixed = Math.imul(hash ^ byte, 0x5bd1e995);
  return mixed ^ (mixed >>> 15);
}
