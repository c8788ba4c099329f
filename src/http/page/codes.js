import { byId, element } from './elements.js';

/**
 * A code as a link to what it means, further down on this page. Codes that are not of the service stay text.
 * @param {'failure' | 'problem'} kind
 * @param {string} code
 */
export function codeLink(kind, code) {
  if (document.getElementById(`${kind}-${code}`) === null) {
    return element('code', {}, [code]);
  }
  const link = element('a', { href: `#${kind}-${code}` }, [element('code', {}, [code])]);
  link.addEventListener('click', openCodes);
  return link;
}

/** Fetches the tables of codes, which the service makes from its own, and lists them. They are the same for all. */
export async function listCodes() {
  byId('codes-link', HTMLAnchorElement).addEventListener('click', openCodes);
  const list = byId('code-list', HTMLElement);
  try {
    const response = await fetch('/page/codes.json', { signal: AbortSignal.timeout(15_000) });
    const { failures, problems } = await response.json();
    list.replaceChildren(
      element('h3', {}, ['Failures of a Computation']),
      table('failure', failures),
      element('h3', {}, ['Problems: there is no Computation']),
      table('problem', problems),
    );
  } catch {
    list.replaceChildren(element('p', {}, ['The codes could not be fetched. Reload the page to try again.']));
  }
}

function openCodes() {
  byId('codes', HTMLDetailsElement).open = true;
}

/**
 * @param {string} kind
 * @param {readonly { readonly code: string, readonly meaning: string }[]} rows
 */
function table(kind, rows) {
  return element(
    'dl',
    { class: 'codes' },
    rows.flatMap(({ code, meaning }) => [
      element('dt', { id: `${kind}-${code}`, tabindex: '-1' }, [element('code', {}, [code])]),
      element('dd', {}, [meaning]),
    ]),
  );
}
