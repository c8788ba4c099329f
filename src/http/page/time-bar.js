import { element } from './elements.js';

const PHASES = ['prompt', 'model', 'admission', 'queue', 'sandbox'];

/**
 * Where the time went, as a bar and as the table that says the same in words. Milliseconds; what the phases leave of
 * the total is `other`.
 * @param {Readonly<Record<string, number>>} timings
 */
export function timeBar(timings) {
  const total = timings.total ?? 0;
  const phases = PHASES.map((name) => ({ name, ms: timings[name] ?? 0 }));
  const other = Math.max(0, total - phases.reduce((sum, { ms }) => sum + ms, 0));
  const rows = [...phases, { name: 'other', ms: other }];
  return element('figure', { class: 'time' }, [
    element('figcaption', {}, [`Where the time went: ${duration(total)}`]),
    element(
      'div',
      { class: 'bar', 'aria-hidden': 'true' },
      rows
        .filter(({ ms }) => ms > 0)
        .map(({ name, ms }) => {
          const part = element('span', { class: `part phase-${name}` });
          part.style.flexGrow = String(ms / (total || 1));
          return part;
        }),
    ),
    element('table', {}, [
      element('thead', { class: 'unseen' }, [
        element(
          'tr',
          {},
          ['phase', 'time', 'share'].map((name) => element('th', { scope: 'col' }, [name])),
        ),
      ]),
      element(
        'tbody',
        {},
        rows.map(({ name, ms }) =>
          element('tr', {}, [
            element('th', { scope: 'row' }, [element('span', { class: `swatch phase-${name}` }), name]),
            element('td', {}, [duration(ms)]),
            element('td', {}, [total === 0 ? '' : `${Math.round((100 * ms) / total)} %`]),
          ]),
        ),
      ),
    ]),
  ]);
}

/** @param {number} ms */
export function duration(ms) {
  return ms < 1000 ? `${Number(ms.toFixed(1))} ms` : `${(ms / 1000).toFixed(2)} s`;
}
