import { codeLink } from './codes.js';
import { byId, element } from './elements.js';

/**
 * @typedef {{ readonly used: number, readonly limit: number | null, readonly remaining: number | null }} Meter
 * @typedef {{ readonly tenant: string, readonly month: string, readonly compute_runs: Meter, readonly compute_seconds: Meter, readonly open_permits: number, readonly resets_at: string }} Usage
 */

const number = new Intl.NumberFormat('en');

/**
 * This month's quotas, from the answer of `/v1/usage`, as two meters.
 * @param {string} text
 */
export function showUsage(text) {
  /** @type {Usage} */
  const usage = JSON.parse(text);
  const open = usage.open_permits === 0 ? '' : `, ${number.format(usage.open_permits)} open`;
  byId('quotas', HTMLElement).replaceChildren(
    element('div', { class: 'meters' }, [
      meter('Runs', usage.compute_runs, ''),
      meter('Seconds', usage.compute_seconds, ' s'),
    ]),
    element('p', { class: 'hint' }, [
      `${usage.tenant}, ${usage.month}${open}. Starts again at ${usage.resets_at.replace('T', ' ').replace(/:00Z$/, ' UTC')}.`,
    ]),
  );
}

/** @param {import('./service.js').Problem} problem */
export function showUsageProblem(problem) {
  byId('quotas', HTMLElement).replaceChildren(
    element('p', { class: 'fault' }, [
      `${problem.title}. ${problem.detail ?? ''} `,
      codeLink('problem', problem.code),
    ]),
  );
}

/**
 * @param {string} name
 * @param {Meter} meter
 * @param {string} unit
 */
function meter(name, { used, limit, remaining }, unit) {
  const words =
    limit === null
      ? `${number.format(used)}${unit} used, no limit`
      : `${number.format(used)} of ${number.format(limit)}${unit} used, ${number.format(remaining ?? 0)} left`;
  if (limit === null) {
    return element('div', { class: 'quota' }, [element('b', {}, [name]), element('span', {}, [words])]);
  }
  const share = limit === 0 ? 1 : Math.min(1, used / limit);
  const fill = element('span', { class: share >= 0.9 ? 'fill nearly' : 'fill' });
  fill.style.width = `${100 * share}%`;
  const attributes = {
    class: 'track',
    role: 'meter',
    'aria-label': `${name} this month`,
    'aria-valuemin': '0',
    'aria-valuemax': String(limit),
    'aria-valuenow': String(Math.min(used, limit)),
    'aria-valuetext': words,
  };
  return element('div', { class: 'quota' }, [
    element('b', {}, [name]),
    element('span', {}, [words]),
    element('div', attributes, [fill]),
  ]);
}
