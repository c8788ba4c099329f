/**
 * A request's body as JSON text. Refuses what JSON.stringify would change without a word (NaN and the infinities become
 * null) or cannot write (bigint): exact numbers travel as the text a tool returned, in `sources[].result_json`.
 */
export function requestText(body: object): string {
  return JSON.stringify(body, (_name, value: unknown) => {
    if (typeof value === 'number' && !Number.isFinite(value)) {
      throw new TypeError(
        'the request holds NaN or Infinity, which JSON does not have: send null or a string',
      );
    }
    if (typeof value === 'bigint') {
      throw new TypeError('the request holds a bigint: send that source as JSON text in result_json');
    }
    return value;
  });
}
