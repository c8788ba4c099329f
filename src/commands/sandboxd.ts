import closeWithGrace from 'close-with-grace';
import { startSandboxd } from '../compose-sandboxd.ts';
import { loadSandboxdConfig, SANDBOXD_SETTINGS, settingsTable } from '../config.ts';
import type { Command } from './command.ts';
import { refuse } from './terminal.ts';

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
    const daemon = await startSandboxd(config);
    if ('faults' in daemon) {
      return refuse(daemon.faults);
    }
    closeWithGrace({ delay: (config.SHUTDOWN_GRACE_SECONDS + 15) * 1000 }, async ({ err }) => {
      if (err !== undefined) {
        daemon.failed(err);
      }
      await daemon.close();
    });
  },
};
