import { startSandboxd } from '../compose-sandboxd.ts';
import { loadSandboxdConfig, SANDBOXD_SETTINGS, settingsTable } from '../config.ts';
import type { Command } from './command.ts';
import { refuse } from './terminal.ts';
import { withGrace } from './with-grace.ts';

export const sandboxd: Command = {
  name: 'sandboxd',
  summary: [
    'the sandbox in a process of its own, which alone holds the engine; serve reaches it by',
    'SANDBOXD_SOCKET (sandboxd --help lists its settings)',
  ],
  options: [],
  more: () => `Settings of \`compute-step sandboxd\` (environment)\n\n${settingsTable(SANDBOXD_SETTINGS)}`,
  run: async (args) => {
    if (args.length > 0) {
      return refuse(['sandboxd takes no arguments but --help; settings come from the environment']);
    }
    const config = loadSandboxdConfig();
    if ('kind' in config) {
      return refuse(config.faults);
    }
    const starting = startSandboxd(config);
    const grace = withGrace(config.SHUTDOWN_GRACE_SECONDS, starting);
    const daemon = await starting;
    if ('faults' in daemon) {
      grace.withdraw();
      refuse(daemon.faults);
    }
  },
};
