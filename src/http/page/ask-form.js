import { byId, showFault } from './elements.js';
import { EXAMPLE } from './example.js';
import { objectText } from './json-text.js';

/**
 * The form of a step: what it asks, or null after the field with a fault was marked and focused.
 * @param {ReturnType<typeof import('./sources.js').createSources>} sources
 */
export function createAskForm(sources) {
  const instruction = byId('instruction', HTMLTextAreaElement);
  const resultType = byId('result-type', HTMLSelectElement);
  const nullable = byId('nullable', HTMLInputElement);
  const resultSchema = byId('result-schema', HTMLTextAreaElement);
  const detail = byId('detail', HTMLInputElement);
  const url = byId('model-url', HTMLInputElement);
  const format = byId('model-format', HTMLSelectElement);
  const name = byId('model-name', HTMLInputElement);
  const authorization = byId('model-authorization', HTMLInputElement);

  byId('example', HTMLButtonElement).addEventListener('click', () => {
    const given = instruction.value.trim() !== '' || sources.given();
    if (given && !window.confirm('Put the example in place of your instruction and sources?')) {
      return;
    }
    instruction.value = EXAMPLE.instruction;
    resultType.value = EXAMPLE.resultType;
    resultSchema.value = '';
    sources.replace(EXAMPLE.name, EXAMPLE.text);
    instruction.focus();
  });

  /** @returns {import('./request-body.js').Ask['model']} */
  const model = () => {
    const asked = {
      url: url.value.trim(),
      name: name.value.trim(),
      authorization: authorization.value.trim(),
    };
    return Object.values(asked).every((value) => value === '') ? null : { ...asked, format: format.value };
  };

  return {
    /**
     * @param {boolean} instructed whether an instruction is needed
     * @returns {import('./request-body.js').Ask | null}
     */
    read: (instructed) => {
      const schema = resultSchema.value.trim() === '' ? '' : objectText(resultSchema.value);
      const asked = model();
      const sound = [
        held(instruction, instructed && instruction.value.trim() === '' ? 'Say what to compute.' : null),
        held(resultSchema, schema === null ? 'This must be one JSON object.' : null),
        held(url, instructed && asked?.url === '' ? 'A model needs its URL.' : null),
      ];
      if (schema === null || sound.includes(false)) {
        const first = document.querySelector('#step-form [aria-invalid="true"]');
        first?.closest('details')?.setAttribute('open', '');
        if (first instanceof HTMLElement) {
          first.focus();
        }
        return null;
      }
      return {
        instruction: instruction.value,
        resultType: resultType.value,
        nullable: nullable.checked,
        resultSchema: schema,
        sources: sources.values(),
        model: asked,
        detail: detail.checked,
      };
    },
  };
}

/**
 * The key that was typed, or null after its field was marked and focused: a header can hold nothing else.
 * @returns {string | null}
 */
export function readKey() {
  const field = byId('key', HTMLInputElement);
  const key = field.value.trim();
  const sound = held(
    field,
    key === ''
      ? 'Give the API key first.'
      : /^[\x21-\x7e]+$/.test(key)
        ? null
        : 'A key has no spaces or accents.',
  );
  if (!sound) {
    field.focus();
  }
  return sound ? key : null;
}

/**
 * @param {HTMLElement} field
 * @param {string | null} fault
 */
function held(field, fault) {
  showFault(field, byId(`${field.id}-fault`, HTMLElement), fault);
  return fault === null;
}
