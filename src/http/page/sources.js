import { byId, element, showFault, within } from './elements.js';

/** As many as a request may have. */
const MAX_SOURCES = 64;
/** A file up to this many characters is put into the field; a larger one is held beside it, as fields are slow then. */
const MAX_SHOWN = 256 * 1024;
/** Past this the tab would run out of memory before the service could say that the body is too large. */
const MAX_FILE_BYTES = 128 * 1024 * 1024;

/**
 * The list of sources: at least one, each with a name, a policy for its keys, and JSON that is pasted or a file's.
 * @param {(said: string) => void} say
 */
export function createSources(say) {
  const list = byId('sources', HTMLElement);
  const addButton = byId('add-source', HTMLButtonElement);
  /** @type {ReturnType<typeof createSource>[]} */
  let sources = [];

  const numbered = () => {
    for (const [index, source] of sources.entries()) {
      source.number(index + 1, sources.length > 1);
    }
  };
  const add = () => {
    if (sources.length === MAX_SOURCES) {
      say(`A step takes at most ${MAX_SOURCES} sources.`);
      return null;
    }
    const source = createSource(() => {
      sources = sources.filter((other) => other !== source);
      source.box.remove();
      numbered();
      addButton.focus();
    });
    sources.push(source);
    list.append(source.box);
    numbered();
    return source;
  };
  addButton.addEventListener('click', () => add()?.focus());
  add();

  return {
    /** Whether anything was given that an example would take the place of. */
    given: () => sources.length > 1 || sources.some((source) => source.value().text.trim() !== ''),
    values: () => sources.map((source) => source.value()),
    /** @param {string} name @param {string} text */
    replace: (name, text) => {
      for (const source of sources) {
        source.box.remove();
      }
      sources = [];
      add()?.set(name, text);
    },
  };
}

/** @param {() => void} onRemove */
function createSource(onRemove) {
  const template = byId('source-template', HTMLTemplateElement);
  const box = /** @type {HTMLFieldSetElement} */ (
    document.importNode(within(template.content, 'fieldset', HTMLFieldSetElement), true)
  );
  const legend = within(box, 'legend', HTMLLegendElement);
  const name = within(box, '.name', HTMLInputElement);
  const keys = within(box, '.keys', HTMLSelectElement);
  const pasted = within(box, '.text', HTMLTextAreaElement);
  const file = within(box, '.file', HTMLInputElement);
  const note = within(box, '.file-note', HTMLElement);
  const fault = within(box, '.fault', HTMLElement);
  const forget = within(box, '.forget', HTMLButtonElement);
  const remove = within(box, '.remove', HTMLButtonElement);
  /** The text of a large file, in place of the field's. @type {string | null} */
  let held = null;

  const hold = (/** @type {string | null} */ text, /** @type {string} */ said) => {
    held = text;
    note.textContent = said;
    note.hidden = text === null;
    forget.hidden = text === null;
    within(box, '.paste', HTMLLabelElement).hidden = text !== null;
  };
  file.addEventListener('change', async () => {
    const [chosen] = file.files ?? [];
    if (chosen === undefined) {
      return;
    }
    const read = await textOf(chosen);
    file.value = '';
    showFault(file, fault, 'fault' in read ? read.fault : null);
    if ('fault' in read) {
      return;
    }
    if (name.value === '') {
      name.value = nameOf(chosen.name);
    }
    if (read.text.length > MAX_SHOWN) {
      hold(read.text, `${chosen.name}, ${(chosen.size / 1e6).toFixed(1)} MB, is sent as it is.`);
    } else {
      hold(null, '');
      pasted.value = read.text;
    }
  });
  forget.addEventListener('click', () => {
    hold(null, '');
    pasted.focus();
  });
  remove.addEventListener('click', onRemove);

  return {
    box,
    focus: () => name.focus(),
    value: () => ({ name: name.value.trim(), keys: keys.value, text: held ?? pasted.value }),
    /** @param {number} position @param {boolean} removable */
    number: (position, removable) => {
      legend.replaceChildren(element('span', {}, [`Source ${position}`]));
      name.placeholder = `source_${position}`;
      remove.hidden = !removable;
      remove.setAttribute('aria-label', `Remove source ${position}`);
    },
    /** @param {string} newName @param {string} text */
    set: (newName, text) => {
      name.value = newName;
      pasted.value = text;
    },
  };
}

/**
 * A file's text. Bytes that are not UTF-8 are a fault: replaced ones would change the data unseen.
 * @param {File} file
 * @returns {Promise<{ text: string } | { fault: string }>}
 */
async function textOf(file) {
  if (file.size > MAX_FILE_BYTES) {
    return { fault: 'The file is larger than 128 MiB; send it to the API by another way.' };
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer()) };
  } catch {
    return { fault: 'The file could not be read as UTF-8 text.' };
  }
}

/**
 * A name for a source from that of its file; empty where none can be made.
 * @param {string} fileName
 */
function nameOf(fileName) {
  const name = fileName.replace(/\.[^.]*$/, '').replace(/[^A-Za-z0-9_]+/g, '_');
  return /^(?!source_\d+$)[A-Za-z_]\w{0,63}$/.test(name) ? name : '';
}
