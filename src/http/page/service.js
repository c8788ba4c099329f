/**
 * A problem as the service says it (RFC 9457). `function` is there where the model had been paid already.
 * @typedef {object} Problem
 * @property {string} title
 * @property {string} code
 * @property {string} [detail]
 * @property {number} [status]
 * @property {boolean} [retryable]
 * @property {number} [retry_after_seconds]
 * @property {{ readonly code: string }} [function]
 * @property {string} [code_sha256]
 */

/**
 * What a call came to: the answer's text as it came, or why there is none.
 * @typedef {{ kind: 'answer', text: string } | { kind: 'problem', problem: Problem } | { kind: 'cancelled' }} Reply
 */

/**
 * Calls the API of this origin with the key; a `body` makes it a POST. Aborting the signal hangs up.
 * @param {string} key
 * @param {string} path
 * @param {string | null} body
 * @param {AbortSignal} signal
 * @returns {Promise<Reply>}
 */
export async function callService(key, path, body, signal) {
  try {
    const response = await fetch(path, {
      method: body === null ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${key}`,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
      },
      body,
      signal,
      cache: 'no-store',
      redirect: 'error',
    });
    const text = await response.text();
    return response.ok ? { kind: 'answer', text } : { kind: 'problem', problem: problemOf(response, text) };
  } catch {
    if (signal.aborted) {
      return { kind: 'cancelled' };
    }
    const title = 'The service could not be reached';
    const detail = 'The connection failed or was closed. If the run had started, it counts.';
    return { kind: 'problem', problem: { title, code: 'unreachable', detail, retryable: true } };
  }
}

/**
 * @param {Response} response
 * @param {string} text
 * @returns {Problem}
 */
function problemOf(response, text) {
  try {
    const problem = JSON.parse(text);
    if (typeof problem.title === 'string' && typeof problem.code === 'string') {
      return problem;
    }
  } catch {
    // Not the service's own words: something between it and this page answered.
  }
  const title = `HTTP ${response.status}`;
  return { title, code: 'unknown', detail: 'Something before the service answered in its place.' };
}
