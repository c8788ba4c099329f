/** A month's name or its abbreviation. */
const MONTH =
  '(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?)';

/** Patterns of keys that are values: one is enough. Field names of common APIs pass all of them. */
const PATTERNS: readonly { readonly what: string; readonly pattern: RegExp }[] = [
  { what: 'e-mail address', pattern: /[^@\s]@[^@\s]/u },
  { what: 'number, date, time, phone number, IPv4', pattern: /^[+\-(]?\.?\d[\d\s().\-/:,+_TZ]*$/u },
  { what: 'number with exponent', pattern: /^[+-]?\d+(\.\d+)?e[+-]?\d+$/iu },
  { what: 'date with a time or zone', pattern: /^\d{4}-\d{2}-\d{2}/u },
  {
    what: 'quarter, week, half-year',
    pattern: /^((19|20)\d{2}[-_ ]?[QWH]\d{1,2}|[QWH]\d{1,2}[-_ ]?(19|20)\d{2})$/iu,
  },
  {
    what: 'date with a month name',
    pattern: new RegExp(`^(\\d{1,4}[-_., ]*${MONTH}\\b.*|${MONTH}[-_., ]*\\d{1,4}([-_., ].*)?)$`, 'iu'),
  },
  { what: 'UUID', pattern: /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/iu },
  { what: 'hexadecimal digest', pattern: /^(0x)?[0-9a-f]{16,}$/iu },
  {
    what: 'part of a digest',
    pattern: /(^|[^A-Za-z0-9])(?=[a-f]*\d[0-9a-f]*\d)(?=[0-9]*[a-f])[0-9a-f]{7,}($|[^A-Za-z0-9])/u,
  },
  { what: 'number in a name', pattern: /\d{5}/u },
  { what: 'number after a hyphen (web-01, order-17)', pattern: /-\d{2,}$/u },
  { what: 'article, order or plate number (MUG-WHITE-L)', pattern: /^[A-Z0-9]+(-[A-Z0-9]+)+$/u },
  { what: 'version', pattern: /^v?\d+(\.\d+)+([-+].*)?$/iu },
  { what: 'URL or path', pattern: /:\/\/|^[/\\~]|\\/u },
  { what: 'IPv6', pattern: /^[0-9a-f]*:[0-9a-f:]*:[0-9a-f.:]*$/iu },
  {
    what: 'host name',
    pattern: /^([a-z0-9-]+\.)+(com|org|net|io|dev|app|gov|edu|info|co|ai|uk|de|eu|fr|example|local|test)$/iu,
  },
  { what: 'sentence', pattern: /^\S+(\s+\S+){5,}$/u },
];

/** Longest run of letters and digits that a field's name has in one word. */
const WORD_MAX = 28;
/** Words this long are looked at for randomness. */
const RANDOM_MIN = 8;

/** ISO 4217 codes. */
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

const LANGUAGES: ReadonlySet<string> = new Set(
  'ar bg cs da de el en es et fa fi fr he hi hr hu it ja ko lt lv nb nl pl pt ro ru sk sl sv th tr uk vi zh'.split(
    ' ',
  ),
);
const CALENDAR = new RegExp(`^((mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?|${MONTH})$`, 'iu');

/**
 * Whether a key looks like a value: an address, an id, a date, a number, a digest, a token, a code. Judged by its
 * form alone; when unsure, yes (the key is then not shown, its values still are described).
 */
export function looksLikeData(name: string): boolean {
  if ([...name].length > 64) return true;
  if (PATTERNS.some(({ pattern }) => pattern.test(name))) return true;
  if (CURRENCIES.has(name)) return true;
  const digits = name.replace(/\D/gu, '').length;
  const letters = name.replace(/[^\p{L}]/gu, '').length;
  if (digits >= 3 && digits > letters) return true;
  return name.split(/[^\p{L}\p{M}\p{Nd}]+/u).some(isToken);
}

/**
 * A word that nobody wrote: very long, or changing between cases and digits every two or three characters, or
 * without a vowel for long.
 */
function isToken(word: string): boolean {
  if (word.length > WORD_MAX && !/[a-z][A-Z]/u.test(word)) return true;
  if (word.length > 2 * WORD_MAX) return true;
  if (word.length < RANDOM_MIN || !/^[A-Za-z0-9]+$/u.test(word)) return false;
  if (/[bcdfghjklmnpqrstvwxz]{7,}/u.test(word)) return true;
  // Short names with a digit of their own count as letters: IPv4Address, S3Key.
  const plain = word.replace(/IPv[46]|[SV]\d(?=[A-Z])/giu, 'Ipx');
  const pieces = plain.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/gu) ?? [];
  return pieces.length >= 3 && plain.length / pieces.length < 3;
}

/**
 * Whether a set of names is a set of codes: currencies, countries, tickers, `A12`, languages, days, months. One such name
 * can be a field (`id`, `may`); several together, with values of one kind, are keys of a map.
 */
export function areCodes(names: readonly string[]): boolean {
  if (names.length < 2) return false;
  if (names.every((name) => /^[A-Z]{1,5}([.-][A-Z]{1,3})?$/u.test(name))) return true;
  if (names.every((name) => /^[A-Z]{1,5}_?\d{1,4}$/u.test(name))) return true;
  if (names.every((name) => CURRENCIES.has(name.toUpperCase()))) return true;
  if (names.every((name) => CALENDAR.test(name))) return true;
  if (names.every((name) => /^[a-z]{2,3}[-_][A-Za-z]{2,4}$/u.test(name) || LANGUAGES.has(name))) return true;
  return names.length >= 3 && names.every((name) => /^[a-z]{2}$/u.test(name));
}
