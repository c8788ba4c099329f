import { parseArgs } from 'node:util';
import { examine } from '../compose-doctor.ts';
import { loadConfig } from '../config.ts';
import { type Finding, findingsJson, findingsTable, healthy, wrong } from '../doctor.ts';
import { type Command, helpOf } from './command.ts';
import { refuse, say } from './terminal.ts';

const OPTIONS = { json: { type: 'boolean' }, model: { type: 'boolean' } } as const;

export const doctor: Command = {
  name: 'doctor',
  summary: ['looks at everything serve needs, with its settings; ends with 1 if anything is wrong'],
  options: [
    ['--json', 'for a program'],
    ['--model', 'also connects to the default model webhook, without asking it anything'],
  ],
  run: async (args) => {
    let values: { json?: boolean; model?: boolean };
    try {
      ({ values } = parseArgs({ args: [...args], options: OPTIONS }));
    } catch (error) {
      return refuse([(error as Error).message, '', helpOf(doctor)]);
    }
    const config = loadConfig();
    const findings: readonly Finding[] =
      'kind' in config
        ? config.faults.map((fault) => wrong('settings', fault, 'serve --help lists every setting'))
        : await examine(config, { model: values.model === true });
    say(values.json === true ? findingsJson(findings) : findingsTable(findings));
    process.exitCode = healthy(findings) ? 0 : 1;
  },
};
