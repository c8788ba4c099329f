import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Coloured on a terminal, plain in a pipe. */
function styled(style: Style, text: string): string {
  return process.stdout.isTTY ? styleText(style, text) : text;
}

export function heading(text: string): void {
  console.log(`\n${styled('bold', text)}\n${styled('dim', '─'.repeat(72))}`);
}

export function field(name: string, value: string, style?: Style): void {
  console.log(`${styled('cyan', name.padEnd(10))} ${style === undefined ? value : styled(style, value)}`);
}

/** A block of text under a name, indented. */
export function block(name: string, text: string): void {
  console.log(styled('cyan', name));
  console.log(
    text
      .trimEnd()
      .split('\n')
      .map((line) => `    ${line}`)
      .join('\n'),
  );
}

export function note(text: string): void {
  console.log(styled('dim', text));
}
