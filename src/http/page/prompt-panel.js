import { byId, copyButton, element } from './elements.js';
import { indented, memberText } from './json-text.js';

/**
 * Shows a prompt: the schema, and both parts word for word.
 * @param {string} text the `prompt` member of an answer, as it came
 */
export function showPrompt(text) {
  const { system, user } = JSON.parse(text);
  byId('prompt', HTMLElement).replaceChildren(
    part('Schema of the sources', indented(memberText(text, 'schema') ?? 'null'), true),
    part('User part', user, true),
    part('System part', system, false),
  );
}

/**
 * @param {string} title
 * @param {string} text
 * @param {boolean} open
 */
function part(title, text, open) {
  return element('details', { open }, [
    element('summary', {}, [title]),
    element('pre', { tabindex: '0', role: 'group', 'aria-label': title, translate: 'no' }, [text]),
    copyButton(title.toLowerCase(), () => text),
  ]);
}
