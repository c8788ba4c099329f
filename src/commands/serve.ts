import { composeService } from '../compose.ts';
import { loadConfig, settingsTable } from '../config.ts';
import type { Command } from './command.ts';
import { refuse } from './terminal.ts';
import { version } from './version.ts';
import { withGrace } from './with-grace.ts';

export const serve: Command = {
  name: 'serve',
  summary: ['the HTTP API; settings come from the environment (serve --help lists them)'],
  options: [],
  more: () => `Settings of \`compute-step serve\` (environment)\n\n${settingsTable()}`,
  run: async (args) => {
    if (args.length > 0) {
      return refuse(['serve takes no arguments but --help; settings come from the environment']);
    }
    const config = loadConfig();
    if ('kind' in config) {
      return refuse(config.faults);
    }
    const starting = composeService(config, version());
    let ending = false;
    const grace = withGrace(config.SHUTDOWN_GRACE_SECONDS, starting, {
      skip: ['SIGHUP'],
      ending: () => {
        ending = true;
      },
    });
    process.on('SIGHUP', async () => {
      const started = await starting;
      if (!('faults' in started)) {
        started.reloadTenants();
      }
    });
    const service = await starting;
    if ('faults' in service) {
      grace.withdraw();
      return refuse(service.faults);
    }
    try {
      if (!ending) {
        await service.listen();
      }
    } catch (error) {
      if (ending) {
        // Closed while it was about to listen.
        return;
      }
      grace.withdraw();
      refuse([listenFault(error)]);
      await service.close();
      process.exit();
    }
  },
};

/** Why an address cannot be listened on, and what to do. */
function listenFault(error: unknown): string {
  const { code, hostname, address, port } = error as Readonly<Record<string, string | undefined>>;
  const at = hostname ?? `${address ?? 'the address'}:${port ?? ''}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${at} is in use: choose another PORT or METRICS_PORT, or end what listens there`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${at} is not an address of this machine: choose another HOST or METRICS_HOST`;
    case 'EACCES':
      return `${at} may not be listened on by this user: choose a PORT from 1024 on`;
    default:
      return `the service cannot listen (${code ?? 'unknown error'}): check HOST, PORT, METRICS_HOST and METRICS_PORT`;
  }
}
