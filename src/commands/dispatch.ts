import { type Command, helpOf, usageOf } from './command.ts';
import { refuse, say } from './terminal.ts';
import { version } from './version.ts';

const HELP = ['--help', '-h'];

/**
 * Does what the arguments after `compute-step` say: a command, its own help, or that of all. An unknown command ends
 * with 2.
 */
export async function dispatch(commands: readonly Command[], args: readonly string[]): Promise<void> {
  const [first, second] = args;
  if (first === undefined || first === 'help' || HELP.includes(first)) {
    return say(usageOf(commands));
  }
  if (first === '--version') {
    return say(version());
  }
  const command = commands.find(({ name }) => name === first || name === `${first} ${second}`);
  if (command !== undefined) {
    const rest = args.slice(command.name.split(' ').length);
    return rest.some((arg) => HELP.includes(arg)) ? say(helpOf(command)) : command.run(rest);
  }
  // `key --help`, where `key create` is a command.
  const family = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (family.length > 0 && second !== undefined && HELP.includes(second)) {
    return say(family.map(helpOf).join('\n\n'));
  }
  return refuse([`unknown command: ${first.slice(0, 64)}`, '', usageOf(commands)]);
}
