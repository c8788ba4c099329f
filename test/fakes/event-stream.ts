/** One event as a client reads it: lines of data joined by LF. */
export interface ReceivedEvent {
  readonly event: string;
  readonly data: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
  readonly json: any;
}

/** Reads a stream of events as the HTML Standard does (section 9.2.6), as far as the service uses it. */
export function readEvents(text: string): ReceivedEvent[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((block) => block.split('\n').filter((line) => !line.startsWith(':')))
    .filter((lines) => lines.length > 0)
    .map((lines) => {
      const field = (name: string) =>
        lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      const data = field('data').join('\n');
      return {
        event: field('event').join(),
        data,
        get json() {
          return JSON.parse(data);
        },
      };
    });
}
