/** The type of a JSON value as messages name it: a number token without fraction and exponent is an `integer`. */
export type JsonType = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

/** The type of one JSON token (valid, no space around it), told by its first character. */
export function jsonTypeOf(token: string): JsonType {
  switch (token.charCodeAt(0)) {
    case 0x7b:
      return 'object';
    case 0x5b:
      return 'array';
    case 0x22:
      return 'string';
    case 0x6e:
      return 'null';
    case 0x74:
    case 0x66:
      return 'boolean';
    default:
      return /[.eE]/.test(token) ? 'number' : 'integer';
  }
}
