import { byId } from './elements.js';

/**
 * One call at a time: its words, the seconds it has taken, and the button (or Escape) that ends it by hanging up. How
 * long it may take is the service's deadline.
 */
export function createWaiting() {
  const status = byId('status', HTMLElement);
  const shown = byId('waiting', HTMLElement);
  const elapsed = byId('elapsed', HTMLElement);
  const answer = byId('answer', HTMLElement);
  /** @type {AbortController | null} */
  let running = null;

  const cancel = () => running?.abort();
  byId('cancel', HTMLButtonElement).addEventListener('click', cancel);
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && running !== null) {
      event.preventDefault();
      cancel();
    }
  });
  const say = (/** @type {string} */ words) => {
    status.textContent = words;
  };

  return {
    say,
    /**
     * Does the work unless other work is going on; then says so and does nothing.
     * @param {string} words
     * @param {(signal: AbortSignal) => Promise<string>} work resolves with what to say at its end
     */
    during: async (words, work) => {
      if (running !== null) {
        say('Still waiting for the answer. Cancel it first.');
        return;
      }
      running = new AbortController();
      const startedAt = performance.now();
      const tick = () => {
        elapsed.textContent = `${Math.floor((performance.now() - startedAt) / 1000)} s`;
      };
      tick();
      const ticking = setInterval(tick, 1000);
      say(words);
      shown.hidden = false;
      answer.setAttribute('aria-busy', 'true');
      try {
        say(await work(running.signal));
      } catch (error) {
        say('This page has a fault; reload it.');
        throw error;
      } finally {
        clearInterval(ticking);
        shown.hidden = true;
        answer.removeAttribute('aria-busy');
        running = null;
      }
    },
  };
}
