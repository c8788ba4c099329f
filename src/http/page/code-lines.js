import { element } from './elements.js';

/**
 * A remark on a place of a function. `line` counts from 1, `column` from 0 in code points; without a line it stands
 * above the function.
 * @typedef {object} Remark
 * @property {number | null} line
 * @property {number | null} column
 * @property {string} title
 * @property {string} text
 */

/** Characters that cannot be seen or that turn the reading direction: who approves a function must see them. */
const UNSEEN = /((?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}])/u;

/**
 * A function as numbered lines, with each remark under its line and its place marked.
 * @param {string} code
 * @param {readonly Remark[]} remarks
 */
export function codeLines(code, remarks) {
  const lines = code.replace(/\n$/, '').split('\n');
  const placed = (/** @type {Remark} */ { line }) => line !== null && line >= 1 && line <= lines.length;
  return element(
    'div',
    { class: 'code', role: 'group', 'aria-label': 'Function text', tabindex: '0', translate: 'no' },
    [
      ...remarks.filter((remark) => !placed(remark)).map(remarkBox),
      ...lines.flatMap((line, index) => {
        const here = remarks.filter((remark) => remark.line === index + 1);
        const columns = here.flatMap(({ column }) => (column === null ? [] : [column]));
        return [lineBox(line, index + 1, columns, here.length > 0), ...here.map(remarkBox)];
      }),
    ],
  );
}

/**
 * @param {string} line
 * @param {number} number
 * @param {readonly number[]} columns
 * @param {boolean} remarked
 */
function lineBox(line, number, columns, remarked) {
  return element('div', { class: remarked ? 'line remarked' : 'line' }, [
    element('span', { class: 'number', 'aria-hidden': 'true' }, [String(number)]),
    element('code', {}, marked(line, columns)),
  ]);
}

/**
 * The line with the word at each column marked.
 * @param {string} line
 * @param {readonly number[]} columns
 */
function marked(line, columns) {
  const points = [...line];
  /** @type {(Node | string)[]} */
  const parts = [];
  let done = 0;
  for (const column of [...new Set(columns)].sort((left, right) => left - right)) {
    if (column < done) {
      continue;
    }
    const rest = points.slice(column).join('');
    const word = /^[\p{L}\p{N}_]+/u.exec(rest)?.[0] ?? [...rest][0] ?? ' ';
    parts.push(...seen(points.slice(done, column).join('')), element('mark', {}, seen(word)));
    done = column + [...word].length;
  }
  return [...parts, ...seen(points.slice(done).join(''))];
}

/** @param {string} text */
function seen(text) {
  return text.split(UNSEEN).map((part, index) => {
    if (index % 2 === 0) {
      return part;
    }
    const point = /** @type {number} */ (part.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0');
    return element('span', { class: 'unseen-character' }, [`U+${point}`]);
  });
}

/** @param {Remark} remark */
function remarkBox({ line, column, title, text }) {
  const place = line === null ? '' : column === null ? `line ${line}` : `line ${line}, column ${column}`;
  return element('p', { class: 'remark' }, [
    element('strong', {}, [title]),
    ' ',
    element('span', { class: 'place' }, [place]),
    ' ',
    element('span', { class: 'words' }, [text]),
  ]);
}
