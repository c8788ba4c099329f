/** A command of `compute-step`: the words that call it, what its help says, and what it does. */
export interface Command {
  /** One or two words, as they are typed. */
  readonly name: string;
  /** What it is for, in lines that fit a terminal. */
  readonly summary: readonly string[];
  readonly options: readonly (readonly [option: string, meaning: string])[];
  /** The rest of its own help, such as the table of its settings. */
  readonly more?: () => string;
  /** Does it, with the arguments after its name. Sets the exit code where that is not 0. */
  run(args: readonly string[]): Promise<void> | void;
}

const COLUMN = 23;

/** The help of a command itself: `compute-step <name> --help`. */
export function helpOf(command: Command): string {
  const { name, summary, options, more } = command;
  return [
    `compute-step ${name}${options.length > 0 ? ' [options]' : ''}`,
    ...summary.map((line) => `  ${line}`),
    ...(options.length > 0 ? ['', ...options.map(optionLine)] : []),
    ...(more === undefined ? [] : ['', more()]),
  ].join('\n');
}

/** The help of all commands: `compute-step --help`. */
export function usageOf(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ name, summary, options }) => [
    ...summary.map((line, index) => `  ${(index === 0 ? name : '').padEnd(COLUMN)}${line}`),
    ...options.map(optionLine),
  ]);
  return ['compute-step <command>; compute-step <command> --help', '', ...lines].join('\n');
}

function optionLine([option, meaning]: readonly [string, string]): string {
  return `      ${option.padEnd(COLUMN - 4)}${option.length > COLUMN - 6 ? '  ' : ''}${meaning}`;
}
