import { codeLink } from './codes.js';
import { byId, copyButton, element } from './elements.js';
import { indented, memberText } from './json-text.js';
import { duration, timeBar } from './time-bar.js';

/**
 * @typedef {import('./function-panel.js').Refusal} Refusal
 * @typedef {{ readonly admitted: true } | Refusal} Verdict
 * @typedef {{ readonly code_sha256: string, readonly admission: Verdict }} Attempt
 * @typedef {object} Failure
 * @property {string} code
 * @property {string} message
 * @property {boolean} retryable
 * @property {string} [exception]
 * @property {number} [line]
 * @property {string} [path]
 * @property {string} [wanted]
 * @property {string} [got]
 * @typedef {object} Computation
 * @property {string} id
 * @property {'succeeded' | 'failed' | 'not_admitted'} state
 * @property {string} result_type
 * @property {Verdict} admission
 * @property {Failure | null} failure
 * @property {{ wall_seconds: number, cpu_seconds: number | null, peak_memory_bytes: number | null } | null} sandbox
 * @property {string} code_sha256
 * @property {{ source: string, code?: string }} function
 * @property {readonly Attempt[]} attempts
 * @property {{ exception_text?: string, printed?: string }} [detail]
 * @property {{ compute_runs: number, compute_seconds: number }} metered
 * @property {Readonly<Record<string, number>>} timings_ms
 */

/** A longer result is shown up to here, as a page of millions of characters stands still; Copy has all of it. */
const MAX_SHOWN = 100_000;
/** A result up to this length is shown large. */
const SHORT_RESULT = 40;

const STATES = {
  succeeded: { words: 'Succeeded', kind: 'good' },
  failed: { words: 'Failed', kind: 'bad' },
  not_admitted: { words: 'Not admitted', kind: 'bad' },
};

/**
 * Shows a Computation. The result is cut out of the answer's text, never read as a number, so its digits stay.
 * @param {string} text
 * @returns {Computation}
 */
export function showComputation(text) {
  /** @type {Computation} */
  const computation = JSON.parse(text);
  const result = computation.state === 'succeeded' ? memberText(text, 'result') : null;
  const { words, kind } = STATES[computation.state];
  show(
    element('p', {}, [element('span', { class: `badge ${kind}` }, [words]), ` ${counted(computation)}`]),
    ...(result === null ? [] : [resultBox(result, computation.result_type)]),
    ...(computation.failure === null ? [] : [failureBox(computation.failure)]),
    ...details(computation.detail),
    timeBar(computation.timings_ms),
    ...attemptList(computation.attempts),
    facts(computation),
  );
  return computation;
}

/**
 * Shows what a draft came to; its function has a panel of its own.
 * @param {{ readonly state: string, readonly failure: Failure | null, readonly attempts: readonly Attempt[] }} draft
 */
export function showDraft({ state, failure, attempts }) {
  const admitted = state === 'admitted';
  show(
    element('p', {}, [
      element('span', { class: admitted ? 'badge good' : 'badge bad' }, [
        admitted ? 'Draft admitted' : 'Draft not admitted',
      ]),
      ' Nothing ran and nothing was counted.',
    ]),
    ...(failure === null ? [] : [failureBox(failure)]),
    ...attemptList(attempts),
  );
}

/**
 * Shows a problem as the service says it.
 * @param {import('./service.js').Problem} problem
 */
export function showProblem(problem) {
  const { title, code, detail, retryable, retry_after_seconds: after } = problem;
  const again = after === undefined ? 'Trying again can help.' : `Try again after ${after} s.`;
  show(
    element('div', { class: 'trouble' }, [
      element('p', {}, [element('strong', {}, [title])]),
      ...(detail === undefined ? [] : [element('p', {}, [detail])]),
      element('p', {}, [codeLink('problem', code), ...(retryable === true ? [` ${again}`] : [])]),
    ]),
  );
}

/**
 * Shows words alone.
 * @param {string} words
 */
export function showWords(words) {
  show(element('p', { class: 'muted' }, [words]));
}

/** @param {...Node} parts */
function show(...parts) {
  byId('answer', HTMLElement).replaceChildren(...parts);
}

/** @param {Computation} computation */
function counted({ metered }) {
  return metered.compute_runs === 0
    ? 'Nothing was counted.'
    : `Counted: ${metered.compute_runs} run, ${metered.compute_seconds} s.`;
}

/**
 * @param {string} result
 * @param {string} type
 */
function resultBox(result, type) {
  const whole = result.length <= MAX_SHOWN;
  const shown = whole ? indented(result) : result.slice(0, MAX_SHOWN);
  const pre = element(
    'pre',
    {
      id: 'result',
      class: shown.length <= SHORT_RESULT ? 'result short' : 'result',
      tabindex: '0',
      role: 'group',
      'aria-label': 'Result',
      translate: 'no',
    },
    [shown],
  );
  return element('div', { class: 'result-box' }, [
    element('div', { class: 'head' }, [
      element('h3', {}, ['Result ', element('span', { class: 'muted' }, [type])]),
      copyButton('result', () => result),
    ]),
    pre,
    ...(whole
      ? []
      : [element('p', { class: 'hint' }, [`The first ${MAX_SHOWN} of ${result.length} characters.`])]),
  ]);
}

/** @param {Failure} failure */
function failureBox(failure) {
  const { code, message, retryable, exception, line, path, wanted, got } = failure;
  const more = [
    exception === undefined ? '' : `${exception}${line === undefined ? '' : ` in line ${line}`}.`,
    path === undefined ? '' : `At ${path}.`,
    wanted === undefined ? '' : `Wanted ${wanted}.`,
    got === undefined ? '' : `Got ${got}.`,
    retryable ? 'Trying again can help.' : '',
  ];
  return element('div', { class: 'trouble' }, [
    element('p', {}, [element('strong', {}, [message])]),
    element('p', {}, [codeLink('failure', code), ` ${more.filter((words) => words !== '').join(' ')}`]),
  ]);
}

/** @param {Computation['detail']} detail */
function details(detail) {
  /** @type {[string, string | undefined][]} */
  const parts = [
    ['Exception text', detail?.exception_text],
    ['Printed output', detail?.printed],
  ];
  return parts.flatMap(([title, text]) =>
    text === undefined ? [] : [element('h3', {}, [title]), element('pre', { tabindex: '0' }, [text])],
  );
}

/** @param {readonly Attempt[]} attempts */
function attemptList(attempts) {
  if (attempts.length < 2) {
    return [];
  }
  return [
    element('h3', {}, ['Attempts']),
    element(
      'ol',
      { class: 'attempts' },
      attempts.map(({ admission }) =>
        element(
          'li',
          {},
          admission.admitted
            ? ['admitted']
            : [
                'refused: ',
                element('strong', {}, [admission.rule]),
                `, line ${admission.line}. ${admission.message}`,
              ],
        ),
      ),
    ),
  ];
}

/** @param {Computation} computation */
function facts({ id, function: { source }, sandbox, code_sha256: sha256 }) {
  const memory = sandbox?.peak_memory_bytes ?? null;
  const cpu = sandbox?.cpu_seconds ?? null;
  /** @type {[string, string][]} */
  const rows = [
    ['Function from', source],
    ...(sandbox === null
      ? []
      : [/** @type {[string, string]} */ (['Run', duration(sandbox.wall_seconds * 1000)])]),
    ...(cpu === null ? [] : [/** @type {[string, string]} */ (['Processor', duration(cpu * 1000)])]),
    ...(memory === null
      ? []
      : [/** @type {[string, string]} */ (['Memory', `${(memory / 1e6).toFixed(1)} MB`])]),
    ['Function’s digest', sha256 === '' ? 'none was admitted' : `${sha256.slice(0, 16)}…`],
    ['Id', id],
  ];
  return element('details', {}, [
    element('summary', {}, ['More about this run']),
    element(
      'dl',
      { class: 'facts' },
      rows.flatMap(([name, value]) => [element('dt', {}, [name]), element('dd', {}, [value])]),
    ),
  ]);
}
