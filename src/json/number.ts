import { packFault } from './fault.ts';

/** Decimal digits below which neither an integer part nor an exponent can reach the end of a double's range. */
const SAFE_MAGNITUDE = 300;

function digitsEnd(bytes: Uint8Array, pos: number, end: number): number {
  let at = pos;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte < 0x30 || byte > 0x39) break;
    at++;
  }
  return at;
}

/** End of the integer part of the number token at `pos` (its `-` included), or a packed fault. Any length is fine. */
export function scanInteger(bytes: Uint8Array, pos: number, end: number): number {
  const digits = bytes[pos] === 0x2d ? pos + 1 : pos;
  const at = digitsEnd(bytes, digits, end);
  if (at === digits) return packFault('not_json', at);
  // A leading zero stands alone.
  if (bytes[digits] === 0x30 && at > digits + 1) return packFault('not_json', digits + 1);
  return at;
}

/**
 * End of the fraction and exponent that follow the integer part `start`..`pos`, or a packed fault. A number that a
 * double cannot hold (1e400) is refused: Python and JavaScript would read it as Infinity.
 */
export function scanFraction(bytes: Uint8Array, start: number, pos: number, end: number): number {
  let at = pos;
  if (bytes[at] === 0x2e) {
    const fraction = digitsEnd(bytes, at + 1, end);
    if (fraction === at + 1) return packFault('not_json', fraction);
    at = fraction;
  }
  let exponentDigits = 0;
  if (at < end && (bytes[at] === 0x65 || bytes[at] === 0x45)) {
    let digits = at + 1;
    if (digits < end && (bytes[digits] === 0x2b || bytes[digits] === 0x2d)) digits++;
    at = digitsEnd(bytes, digits, end);
    if (at === digits) return packFault('not_json', at);
    exponentDigits = at - digits;
  }
  // Two digits of exponent move the point by at most 99: only the rest needs the exact conversion.
  if (pos - start > SAFE_MAGNITUDE - 100 || exponentDigits > 2) {
    if (!Number.isFinite(Number(Buffer.from(bytes.subarray(start, at)).toString('latin1')))) {
      return packFault('number_out_of_range', start);
    }
  }
  return at;
}
