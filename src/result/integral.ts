/**
 * Most digits that a number with a fraction or an exponent may unfold to. Every finite double fits (309 digits);
 * a short token such as `1e999999999` must not become a gigabyte of zeros.
 */
const MAX_DIGITS = 400;

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * A JSON number token as an integer token of the same value (`4.0` -> `4`, `4e2` -> `400`, `-0.0` -> `0`), worked
 * out on its digits, so it is exact. Null if the value is not integral or has more than 400 digits; a token that
 * is an integer already may have any length.
 */
export function integralToken(token: string): string | null {
  const parts = NUMBER.exec(token);
  if (parts === null) {
    return null;
  }
  const [, sign = '', whole = '', fraction = '', exponentText] = parts;
  if (fraction === '' && exponentText === undefined) {
    return whole === '0' ? '0' : token;
  }
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') {
    return '0';
  }
  const significant = digits.replace(/0+$/, '');
  // Beyond the double range Number gives Infinity, or a count far past the bound: refused below either way.
  const zeros = Number(exponentText ?? '0') - fraction.length + (digits.length - significant.length);
  if (zeros < 0 || significant.length + zeros > MAX_DIGITS) {
    return null;
  }
  return sign + significant + '0'.repeat(zeros);
}
