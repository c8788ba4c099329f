/** A word on standard output; nothing else in the service writes there but the log. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Ends with 2 and what is wrong, one line each. */
export function refuse(lines: readonly string[]): void {
  process.stderr.write(`${lines.join('\n')}\n`);
  process.exitCode = 2;
}
