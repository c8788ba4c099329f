/** A month as the ledger writes it, `yyyy-mm`. */
export const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

/** The UTC month of a moment, `yyyy-mm`. */
export function utcMonth(at: Date): string {
  return at.toISOString().slice(0, 7);
}

/** The first moment after a `yyyy-mm` month, when its quota resets. */
export function monthEnd(month: string): Date {
  const [year, index] = month.split('-').map(Number) as [number, number];
  return new Date(Date.UTC(year, index, 1));
}

/** When a month's quota resets, as RFC 3339 without fractions. */
export function resetsAt(month: string): string {
  return monthEnd(month).toISOString().replace('.000Z', 'Z');
}
