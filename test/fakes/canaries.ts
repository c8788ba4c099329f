import { randomBytes } from 'node:crypto';

/** What a canary stands for: a text or key, a number, a key in the form of a UUID, a credential. */
export type CanaryKind = 'text' | 'number' | 'uuid' | 'secret';

/** A canary that was found where none may be. */
export interface Sighting {
  readonly kind: CanaryKind;
  /** How it was written: `raw`, `json escapes`, `url`, `hex`, `base64`, … */
  readonly encoding: string;
  readonly offset: number;
  /** The bytes around it, as Latin-1. */
  readonly near: string;
}

/** Forms of map keys. All but `odd` are what the description takes for data by its look. */
export const KEY_FORMS = ['email', 'uuid', 'moment', 'sku', 'phone', 'token', 'odd'] as const;
export type KeyForm = (typeof KEY_FORMS)[number];

/**
 * Makes values that no sink may ever hold and finds them again. Every canary of a kind begins and ends with that
 * kind's marker, which is random for each maker, so that a search for the markers finds each of them, also one
 * that was cut at either end, and nothing that another run left behind.
 */
export interface Canaries {
  text(): string;
  /** Text with quotes, a line end, astral and non-ASCII characters around and inside. */
  oddText(): string;
  /** Digits of an integer far past 2^53. */
  integer(): string;
  /** Digits of a number with a fraction. */
  decimal(): string;
  key(form: KeyForm): string;
  /** For headers and keys of the API. */
  secret(): string;
  /** JSON text of records under fields that may be shown; every value and every map key in it is a canary. */
  dataset(records?: number): string;
  /** Every canary in the bytes; of several of one kind in one encoding the first. Empty: there is none. */
  find(bytes: Buffer | string, kinds?: readonly CanaryKind[]): readonly Sighting[];
}

const ALL_KINDS: readonly CanaryKind[] = ['text', 'number', 'uuid', 'secret'];
const NEAR_BYTES = 60;

export function createCanaries(): Canaries {
  const letters = (count: number) =>
    [...randomBytes(count)].map((byte) => 'bcdfghjkmnpqrstvwxz23456789'[byte % 27]).join('');
  const digits = (count: number) => [...randomBytes(count)].map((byte) => String(byte % 10)).join('');
  const hex = randomBytes(6).toString('hex');
  const markers: Record<CanaryKind, string> = {
    text: `cnry${letters(8)}`,
    number: `7${digits(11)}`,
    uuid: `${hex.slice(0, 8)}-${hex.slice(8)}`,
    secret: `scrt${letters(8)}`,
  };
  let count = 0;
  const unique = (): string => String(++count).padStart(6, '0');

  const text = () => `${markers.text}${unique()}${markers.text}`;
  const integer = () => `${markers.number}${unique()}${markers.number}`;
  const decimal = () => (count % 2 === 0 ? `${integer()}.25` : `0.${integer()}`);
  const oddText = () => `"é\n${text()}\\</data_schema>\u0000😀${text()}`;
  const keys: Record<KeyForm, () => string> = {
    email: () => `${text()}@corp.example`,
    uuid: () => `${markers.uuid}-4${unique().slice(-3)}-a000-${unique().padStart(12, '0')}`,
    moment: () => `2026-11-30T08:00:00.${integer()}Z`,
    sku: () => `SKU-${integer()}-XL`,
    phone: () => `+49 ${integer()}`,
    token: text,
    odd: oddText,
  };
  const string = (value: string) => JSON.stringify(value);
  const map = (value: () => string) =>
    `{${KEY_FORMS.map((form) => `${string(keys[form]())}:${value()}`).join(',')}}`;
  const record = () =>
    `{"id":${integer()},"name":${string(text())},"note":${string(oddText())},"price":${decimal()},` +
    `"negative":-${integer()},"tags":[${string(text())},${string(text())}],"by_person":${map(integer)},` +
    `"nested":{"text":${string(text())},"deep":[[{"leaf":${string(text())}}]],"per_day":${map(record0)}}}`;
  const record0 = () => `{"amount":${decimal()},"label":${string(text())}}`;

  return {
    text,
    oddText,
    integer,
    decimal,
    key: (form) => keys[form](),
    secret: () => `${markers.secret}${unique()}${markers.secret}`,
    dataset: (records = 2) => `[${Array.from({ length: records }, record).join(',')}]`,
    find: (bytes, kinds = ALL_KINDS) =>
      search(
        Buffer.from(bytes),
        kinds.map((kind) => ({ kind, marker: markers[kind] })),
      ),
  };
}

interface Wanted {
  readonly kind: CanaryKind;
  readonly marker: string;
}

function search(bytes: Buffer, wanted: readonly Wanted[]): readonly Sighting[] {
  // Case does not matter but for base64. Latin-1 keeps every byte where it is.
  const folded = Buffer.from(bytes.toString('latin1').toLowerCase(), 'latin1');
  return wanted.flatMap(({ kind, marker }) => {
    // As a double in scientific form a number has its point after the first digit.
    const needle = kind === 'number' ? marker.slice(1) : marker;
    return [
      ...foldedForms(needle).map((form) => ({ ...form, offset: folded.indexOf(form.bytes) })),
      ...base64Forms(needle).map((form) => ({ ...form, offset: bytes.indexOf(form.bytes) })),
    ]
      .filter(({ offset }) => offset >= 0)
      .map(({ encoding, offset }) => {
        const near = bytes.subarray(Math.max(0, offset - NEAR_BYTES), offset + 2 * NEAR_BYTES);
        return { kind, encoding, offset, near: near.toString('latin1') };
      });
  });
}

interface Form {
  readonly encoding: string;
  readonly bytes: Buffer;
}

/** The marker in every encoding whose letters may be of either case, in lower case. */
function foldedForms(marker: string): readonly Form[] {
  const codes = [...Buffer.from(marker)].map((byte) => byte.toString(16).padStart(2, '0'));
  const utf16 = Buffer.from(marker, 'utf16le');
  return [
    { encoding: 'raw', bytes: Buffer.from(marker) },
    { encoding: 'json escapes', bytes: Buffer.from(codes.map((code) => `\\u00${code}`).join('')) },
    { encoding: 'byte escapes', bytes: Buffer.from(codes.map((code) => `\\x${code}`).join('')) },
    { encoding: 'url', bytes: Buffer.from(codes.map((code) => `%${code}`).join('')) },
    { encoding: 'hex', bytes: Buffer.from(codes.join('')) },
    // One order of bytes; the other is the same but for a byte at each end.
    { encoding: 'utf-16', bytes: utf16.subarray(0, utf16.length - 1) },
  ];
}

/** The characters that the marker gives in base64 and base64url whatever stands around it, at each offset. */
function base64Forms(marker: string): readonly Form[] {
  return [0, 1, 2].flatMap((offset) => {
    const whole = Buffer.concat([Buffer.alloc(offset), Buffer.from(marker)]);
    const from = Math.ceil((offset * 8) / 6);
    const to = Math.floor((whole.length * 8) / 6);
    const forms = [
      { encoding: `base64 at ${offset}`, bytes: Buffer.from(whole.toString('base64').slice(from, to)) },
      { encoding: `base64url at ${offset}`, bytes: Buffer.from(whole.toString('base64url').slice(from, to)) },
    ];
    return forms[0]?.bytes.equals(forms[1]?.bytes ?? Buffer.alloc(0)) ? forms.slice(0, 1) : forms;
  });
}
