/** Where something stands in the source: line from 1, column from 0 in Unicode code points. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A source in its canonical form (LF line ends, exactly one newline at the end) with its lines' starts. */
export interface SourceText {
  readonly text: string;
  readonly lineStarts: readonly number[];
}

/** Brings a source into the form that is judged, digested and run: CRLF to LF, exactly one newline at the end. */
export function canonicalSource(source: string): SourceText {
  const unified = source.replaceAll('\r\n', '\n');
  // Counted by hand: a pattern such as /\n+$/ tries again at every newline of a long run of them.
  let end = unified.length;
  while (end > 0 && unified.charCodeAt(end - 1) === 10) end -= 1;
  const text = `${unified.slice(0, end)}\n`;
  const lineStarts = [0];
  for (let at = text.indexOf('\n'); at !== -1 && at + 1 < text.length; at = text.indexOf('\n', at + 1)) {
    lineStarts.push(at + 1);
  }
  return { text, lineStarts };
}

/** The line and column of an offset in UTF-16 code units. */
export function placeOf(source: SourceText, offset: number): Place {
  let low = 0;
  let high = source.lineStarts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((source.lineStarts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  const start = source.lineStarts[low] ?? 0;
  let column = 0;
  for (let at = start; at < offset; column += 1) at += (source.text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return { line: low + 1, column };
}
