/**
 * Reads server-sent events (HTML Standard, section 9.2) to their end: each event's name and its data, as they come.
 * Comments are skipped. What is held is one event, which is at most as large as the answer.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<{ event: string, data: string }>}
 */
export async function* eventsOf(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (let done = false; !done; ) {
      const read = await reader.read();
      done = read.done;
      rest += decoder.decode(read.value, { stream: !done });
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
        const lines = rest.slice(0, end).split('\n');
        rest = rest.slice(end + 2);
        const data = valuesOf(lines, 'data');
        if (data.length > 0) {
          yield { event: valuesOf(lines, 'event')[0] ?? 'message', data: data.join('\n') };
        }
      }
    }
  } finally {
    await reader.cancel();
  }
}

/**
 * @param {readonly string[]} lines
 * @param {string} field
 */
function valuesOf(lines, field) {
  return lines
    .filter((line) => line.startsWith(`${field}:`))
    .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
}
