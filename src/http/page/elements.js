/**
 * A new element. Strings become text nodes, never markup; attributes are set as they are, `false` leaves one out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Readonly<Record<string, string | boolean>>} [attributes]
 * @param {readonly (Node | string)[]} [children]
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, attributes = {}, children = []) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) {
      made.setAttribute(name, value === true ? '' : value);
    }
  }
  made.append(...children);
  return made;
}

/**
 * The element of the page with this id; it must be of the class that is asked for.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function byId(id, type) {
  return ofType(document.getElementById(id), type, id);
}

/**
 * The one descendant that the selector names; it must be of the class that is asked for.
 * @template {HTMLElement} T
 * @param {ParentNode} parent
 * @param {string} selector
 * @param {new () => T} type
 * @returns {T}
 */
export function within(parent, selector, type) {
  return ofType(parent.querySelector(selector), type, selector);
}

/**
 * @template {HTMLElement} T
 * @param {Element | null} found
 * @param {new () => T} type
 * @param {string} what
 * @returns {T}
 */
function ofType(found, type, what) {
  if (!(found instanceof type)) {
    throw new Error(`the page has no ${type.name} ${what}`);
  }
  return found;
}

/**
 * Shows a fault under a field and marks the field with it, or takes both away.
 * @param {HTMLElement} field
 * @param {HTMLElement} place
 * @param {string | null} fault
 */
export function showFault(field, place, fault) {
  place.textContent = fault ?? '';
  place.hidden = fault === null;
  if (fault === null) {
    field.removeAttribute('aria-invalid');
  } else {
    field.setAttribute('aria-invalid', 'true');
  }
}

/**
 * A button that copies a text. Where the browser has no clipboard (plain http on another host) it is not shown.
 * @param {string} what
 * @param {() => string} textOf
 */
export function copyButton(what, textOf) {
  const button = element('button', { type: 'button', class: 'quiet', 'aria-label': `Copy ${what}` }, [
    'Copy',
  ]);
  button.hidden = navigator.clipboard === undefined;
  button.addEventListener('click', async () => {
    const copied = await navigator.clipboard.writeText(textOf()).then(
      () => true,
      () => false,
    );
    button.textContent = copied ? 'Copied' : 'Not copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  return button;
}
