import { eventsOf } from './event-stream.js';

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
 * Is told each phase that the service begins, by its event and its data.
 * @typedef {(phase: string, data: string) => void} OnPhase
 */

/** @type {Problem} */
const UNREACHABLE = {
  title: 'The service could not be reached',
  code: 'unreachable',
  detail: 'The connection failed or was closed. If a run had started, it counts.',
  retryable: true,
};

/**
 * Calls the API of this origin with the key; a `body` makes it a POST. Aborting the signal hangs up. With `onPhase`
 * the answer is asked for as events.
 * @param {string} key
 * @param {{ readonly path: string, readonly body: string | null, readonly onPhase?: OnPhase | undefined }} call
 * @param {AbortSignal} signal
 * @returns {Promise<Reply>}
 */
export async function callService(key, { path, body, onPhase }, signal) {
  try {
    const response = await fetch(path, {
      method: body === null ? 'GET' : 'POST',
      headers: {
        accept: onPhase === undefined ? 'application/json' : 'text/event-stream, application/json;q=0.5',
        authorization: `Bearer ${key}`,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
      },
      body,
      signal,
      cache: 'no-store',
      // Whoever redirects is not the service, and must not get the key.
      redirect: 'error',
    });
    if (response.body !== null && response.headers.get('content-type')?.startsWith('text/event-stream')) {
      return await lastOf(response.body, onPhase ?? (() => {}));
    }
    const text = await response.text();
    return response.ok
      ? { kind: 'answer', text }
      : { kind: 'problem', problem: problemOf(response.status, text) };
  } catch {
    return signal.aborted ? { kind: 'cancelled' } : { kind: 'problem', problem: UNREACHABLE };
  }
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {OnPhase} onPhase
 * @returns {Promise<Reply>}
 */
async function lastOf(body, onPhase) {
  for await (const { event, data } of eventsOf(body)) {
    if (event === 'computation') {
      return { kind: 'answer', text: data };
    }
    if (event === 'problem') {
      return { kind: 'problem', problem: problemOf(200, data) };
    }
    onPhase(event, data);
  }
  return { kind: 'problem', problem: UNREACHABLE };
}

/**
 * @param {number} status
 * @param {string} text
 * @returns {Problem}
 */
function problemOf(status, text) {
  try {
    const problem = JSON.parse(text);
    if (typeof problem.title === 'string' && typeof problem.code === 'string') {
      return problem;
    }
  } catch {
    // Not the service's own words: something between it and this page answered.
  }
  return {
    title: `HTTP ${status}`,
    code: 'unknown',
    detail: 'Something before the service answered in its place.',
  };
}
