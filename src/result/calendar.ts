const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DATE_TIME = /^(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether a text is a `full-date` of RFC 3339 that the Gregorian calendar has. */
export function isDate(text: string): boolean {
  const parts = DATE.exec(text);
  if (parts === null) {
    return false;
  }
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0);
  return day >= 1 && day <= days;
}

/**
 * Whether a text is a `date-time` of RFC 3339: a real date, a time with seconds, an offset (`Z` or `±hh:mm`).
 * A leap second (`:60`) is taken only at 23:59 UTC, where RFC 3339 section 5.7 has it.
 */
export function isDateTime(text: string): boolean {
  const parts = DATE_TIME.exec(text);
  if (parts === null || !isDate(parts[1] ?? '')) {
    return false;
  }
  const [hour, minute, second] = parts.slice(2, 5).map(Number) as [number, number, number];
  const offsetHour = Number(parts[6] ?? 0);
  const offsetMinute = Number(parts[7] ?? 0);
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) {
    return false;
  }
  if (second < 60) {
    return true;
  }
  const offset = (offsetHour * 60 + offsetMinute) * (parts[5] === '-' ? -1 : 1);
  return (hour * 60 + minute - offset + 2880) % 1440 === 1439;
}
