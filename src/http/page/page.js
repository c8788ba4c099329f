import { showComputation, showDraft, showProblem, showWords } from './answer-panel.js';
import { createAskForm, readKey } from './ask-form.js';
import { listCodes } from './codes.js';
import { byId } from './elements.js';
import { createFunctionPanel } from './function-panel.js';
import { memberText } from './json-text.js';
import { showPrompt } from './prompt-panel.js';
import { showUsage, showUsageProblem } from './quotas.js';
import { runBody, stepBody } from './request-body.js';
import { callService } from './service.js';
import { createSources } from './sources.js';
import { createWaiting } from './waiting.js';

// Wiring: what each button asks of the service, and which panel shows the answer.

/** @typedef {import('./service.js').OnPhase} OnPhase */

const USAGE = { path: '/v1/usage', body: null };
const USAGE_TIMEOUT_MS = 15_000;
/** What is said when the service tells that a phase has begun. */
const PHASES = new Map([
  ['model', 'Asking the model…'],
  ['queue', 'Waiting for a sandbox…'],
  ['running', 'Running the function…'],
]);

const waiting = createWaiting();
const form = createAskForm(createSources(waiting.say));
const panel = createFunctionPanel();

const STEPS = {
  prompt: { path: '/v1/compute/prompt', words: 'Making the prompt…', show: shownPrompt },
  draft: { path: '/v1/compute/draft', words: 'Waiting for the model’s function…', show: shownDraft },
  compute: {
    path: '/v1/compute',
    words: 'Making the prompt…',
    show: shownComputation,
  },
};

/** @param {string} text */
function shownPrompt(text) {
  showPrompt(memberText(text, 'prompt') ?? '{}');
  showWords('The prompt was made. No model was asked.');
  return { said: 'The prompt was made.', titleId: 'prompt-title' };
}

/** @param {string} text */
function shownDraft(text) {
  const draft = JSON.parse(text);
  panel.show(draft.code, draft.code_sha256, draft.admission.admitted ? [] : [draft.admission]);
  showDraft(draft);
  showPrompt(memberText(text, 'prompt') ?? '{}');
  return {
    said: `The draft is ${draft.admission.admitted ? '' : 'not '}admitted.`,
    titleId: 'function-title',
  };
}

/** @param {string} text */
function shownComputation(text) {
  const { state, admission, failure, function: written, code_sha256: sha256 } = showComputation(text);
  if (written.code !== undefined) {
    const { exception, line } = failure ?? {};
    const raised =
      exception === undefined || line === undefined
        ? []
        : [{ line, column: null, title: exception, text: 'was raised here.' }];
    panel.show(written.code, sha256, admission.admitted ? [] : [admission], raised);
  }
  const prompt = memberText(text, 'prompt');
  if (prompt !== null && prompt !== 'null') {
    showPrompt(prompt);
  }
  return {
    said: `The step ${state === 'succeeded' ? 'succeeded' : 'has no result'}.`,
    titleId: 'answer-title',
  };
}

/**
 * @param {string} text
 * @param {string} code what was checked: a function that was edited meanwhile is another one
 */
function shownVerdict(text, code) {
  if (panel.code() !== code) {
    return { said: 'The function was edited meanwhile. Check it again.', titleId: 'function-title' };
  }
  const { admission, code_sha256: sha256, refusals } = JSON.parse(text);
  const refused = admission.admitted ? [] : refusals.length === 0 ? [admission] : refusals;
  panel.show(code, sha256, refused);
  return { said: `The function is ${admission.admitted ? '' : 'not '}admitted.`, titleId: 'function-title' };
}

/**
 * Calls the service and shows what it answers; the reader is taken there unless they have gone elsewhere meanwhile.
 * @param {string} key
 * @param {{ readonly path: string, readonly body: string, readonly onPhase?: OnPhase | undefined, readonly show: (text: string) => { said: string, titleId: string } }} call
 * @param {AbortSignal} signal
 * @returns {Promise<string>} what to say
 */
async function ask(key, { show, ...call }, signal) {
  const from = document.activeElement;
  const reply = await callService(key, call, signal);
  const { said, titleId } =
    reply.kind === 'answer' ? show(reply.text) : { said: noAnswer(reply), titleId: 'answer-title' };
  const now = document.activeElement;
  if (now === from || now === null || now === document.body || now.id === 'cancel') {
    byId(titleId, HTMLElement).focus();
  }
  return said;
}

/** @param {Exclude<import('./service.js').Reply, { kind: 'answer' }>} reply */
function noAnswer(reply) {
  if (reply.kind === 'cancelled') {
    showWords('Cancelled. A run that had started counts.');
    return 'Cancelled.';
  }
  const { problem } = reply;
  showProblem(problem);
  if (problem.function !== undefined) {
    panel.show(problem.function.code, problem.code_sha256 ?? '', []);
  }
  return `${problem.title}.`;
}

/** @type {OnPhase} */
function sayPhase(phase, data) {
  const words = PHASES.get(phase);
  if (words !== undefined) {
    waiting.say(phase === 'model' && JSON.parse(data).attempt > 1 ? 'Asking the model again…' : words);
  }
}

/** @param {keyof typeof STEPS} name */
async function takeStep(name) {
  const key = readKey();
  const asked = key === null ? null : form.read(true);
  if (key === null || asked === null) {
    return;
  }
  const { path, words, show } = STEPS[name];
  const onPhase = name === 'compute' ? sayPhase : undefined;
  await waiting.during(words, (signal) => ask(key, { path, body: stepBody(asked), onPhase, show }, signal));
  if (name === 'compute') {
    await refreshUsage(key);
  }
}

/** Checks the function, and with `run` runs it: the one that was admitted and no other, by its digest. @param {boolean} run */
async function useFunction(run) {
  if (panel.code().trim() === '') {
    panel.fault('Paste a function, or have one drafted.');
    return;
  }
  const key = readKey();
  const asked = key === null || !run ? null : form.read(false);
  if (key === null || (run && asked === null)) {
    return;
  }
  await waiting.during(run ? 'Running the function…' : 'Checking the function…', async (signal) => {
    let said = '';
    if (!run || panel.sha256() === '') {
      const code = panel.code();
      const body = JSON.stringify({ code });
      const show = (/** @type {string} */ text) => shownVerdict(text, code);
      said = await ask(key, { path: '/v1/compute/admit?all=true', body, show }, signal);
    }
    if (asked === null || panel.sha256() === '') {
      return said;
    }
    const body = runBody(asked, panel.code(), panel.sha256());
    return ask(key, { path: '/v1/compute/run', body, show: shownComputation }, signal);
  });
  if (run) {
    await refreshUsage(key);
  }
}

/** @param {string} key */
async function refreshUsage(key) {
  const reply = await callService(key, USAGE, AbortSignal.timeout(USAGE_TIMEOUT_MS));
  if (reply.kind === 'answer') {
    showUsage(reply.text);
  } else if (reply.kind === 'problem') {
    showUsageProblem(reply.problem);
  }
}

byId('key-form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  const key = readKey();
  if (key !== null) {
    refreshUsage(key);
  }
});

const stepForm = byId('step-form', HTMLFormElement);
stepForm.addEventListener('submit', (event) => {
  event.preventDefault();
  // Enter in a field presses the first button, Show prompt: the one that costs nothing.
  const name = event.submitter instanceof HTMLButtonElement ? event.submitter.value : 'prompt';
  takeStep(name === 'compute' || name === 'draft' ? name : 'prompt');
});
stepForm.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    takeStep('compute');
  }
});
byId('check-function', HTMLButtonElement).addEventListener('click', () => useFunction(false));
byId('run-function', HTMLButtonElement).addEventListener('click', () => useFunction(true));
listCodes();
