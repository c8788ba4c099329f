import { codeLines } from './code-lines.js';
import { byId, copyButton, element, showFault } from './elements.js';

/**
 * @typedef {import('./code-lines.js').Remark} Remark
 * @typedef {object} Refusal
 * @property {false} admitted
 * @property {string} rule
 * @property {number} line
 * @property {number} column
 * @property {string} message
 * @property {string} hint
 */

/**
 * The function: read with its verdict marked in it, or edited. A digest is held for exactly the text that was
 * admitted; any edit drops it.
 */
export function createFunctionPanel() {
  const view = byId('function-view', HTMLElement);
  const editor = byId('function-edit', HTMLElement);
  const field = byId('function-text', HTMLTextAreaElement);
  const fault = byId('function-fault', HTMLElement);
  const verdict = byId('verdict', HTMLElement);
  const editButton = byId('edit-function', HTMLButtonElement);
  const copy = copyButton('function', () => field.value);
  const copyable = !copy.hidden;
  byId('function-buttons', HTMLElement).append(copy);
  let sha256 = '';

  const reading = (/** @type {boolean} */ on) => {
    view.hidden = !on;
    editor.hidden = on;
    editButton.hidden = !on;
    copy.hidden = !on || !copyable;
  };
  const judge = (/** @type {string} */ words, /** @type {string} */ kind) => {
    verdict.replaceChildren(...(words === '' ? [] : [element('span', { class: `badge ${kind}` }, [words])]));
  };
  editButton.addEventListener('click', () => {
    reading(false);
    field.rows = Math.min(24, Math.max(6, field.value.split('\n').length + 1));
    field.focus();
  });
  field.addEventListener('input', () => {
    sha256 = '';
    showFault(field, fault, null);
    judge(field.value === '' ? '' : 'Not checked', '');
  });
  reading(false);

  return {
    code: () => field.value,
    /** The digest of the text as admitted; empty where it was not, or was edited since. */
    sha256: () => sha256,
    /** @param {string} words */
    fault: (words) => {
      reading(false);
      showFault(field, fault, words);
      field.focus();
    },
    /**
     * @param {string} code
     * @param {string} codeSha256
     * @param {readonly Refusal[]} refusals
     * @param {readonly Remark[]} [remarks]
     */
    show: (code, codeSha256, refusals, remarks = []) => {
      field.value = code;
      sha256 = refusals.length === 0 ? codeSha256 : '';
      showFault(field, fault, null);
      const count = refusals.length === 1 ? '' : ` in ${refusals.length} places`;
      judge(refusals.length === 0 ? 'Admitted' : `Refused${count}`, refusals.length === 0 ? 'good' : 'bad');
      view.replaceChildren(
        codeLines(code, [...refusals.map((refusal) => remarkOf(refusal, code)), ...remarks]),
        ...(sha256 === '' ? [] : [element('p', { class: 'digest' }, [`SHA-256 ${sha256}`])]),
      );
      reading(true);
    },
  };
}

/**
 * @param {Refusal} refusal
 * @param {string} code
 * @returns {Remark}
 */
function remarkOf({ rule, line, column, message, hint }, code) {
  const text = `${message} ${hint}`;
  // The service takes a code fence off before it counts lines, so a mark in this text would be off by some.
  return /^\s*```/m.test(code)
    ? { line: null, column: null, title: rule, text: `Line ${line} without the code fence. ${text}` }
    : { line, column, title: rule, text };
}
