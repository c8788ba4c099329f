import { isIP } from 'node:net';
import { type Clock, elapsedMs } from './clock.ts';
import type { Config } from './config.ts';
import { type Finding, fine, wrong } from './doctor.ts';
import { hostPort, readAllowedHosts, urlFault } from './model/address.ts';
import { modelConfigFaults } from './model/choose.ts';
import { AddressRefused, ConnectFailed, guardedConnector, systemResolver } from './model/connect.ts';

/** The settings of the default webhook, where there is one. */
export function modelSettings(config: Config): readonly Finding[] {
  if (config.MODEL_WEBHOOK_URL === null) {
    return [];
  }
  const { MODEL_WEBHOOK_URL: url, MODEL_NAME: name, MODEL_AUTHORIZATION: authorization } = config;
  const signingSecret = config.MODEL_SIGNING_SECRET;
  const faults = modelConfigFaults(
    {
      url,
      format: config.MODEL_WEBHOOK_FORMAT,
      ...(name === null ? {} : { name }),
      ...(authorization === null ? {} : { authorization }),
      ...(signingSecret === null ? {} : { signingSecret }),
    },
    'MODEL_WEBHOOK_URL',
  );
  return [
    faults.length === 0
      ? fine(
          'model settings',
          `format ${config.MODEL_WEBHOOK_FORMAT}${signingSecret === null ? '' : ', signed'}`,
        )
      : wrong('model settings', faults.join('; '), 'correct the MODEL_… settings'),
  ];
}

/** Opens a connection, TLS included, under the same address rules as a request, and closes it: no model is asked. */
export async function modelFinding(config: Config, clock: Clock): Promise<Finding> {
  const check = 'model webhook';
  if (config.MODEL_WEBHOOK_URL === null) {
    return wrong(check, 'there is no default', 'set MODEL_WEBHOOK_URL, or leave out --model');
  }
  const url = new URL(config.MODEL_WEBHOOK_URL);
  const allowed = readAllowedHosts(config.MODEL_ALLOWED_HOSTS);
  const refused = urlFault(url, allowed);
  const where = hostPort(url);
  const allow = `list ${where} in MODEL_ALLOWED_HOSTS if it is meant to be private or plain http`;
  if (refused !== null) {
    return wrong(check, `${where} may not be called: ${refused}`, allow);
  }
  const connect = guardedConnector(systemResolver, allowed.has(where));
  const startedNs = clock.monotonicNs();
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const port = where.slice(where.lastIndexOf(':') + 1);
    const options = {
      hostname,
      host: url.host,
      protocol: url.protocol,
      port,
      ...(isIP(hostname) === 0 ? { servername: hostname } : {}),
    };
    connect(options, (error, socket) => {
      socket?.destroy();
      if (error === null) {
        resolve(fine(check, `${where} takes connections (${Math.round(elapsedMs(clock, startedNs))} ms)`));
      } else if (error instanceof AddressRefused) {
        resolve(
          wrong(check, `${where} resolves to an address that may not be called: ${error.fault}`, allow),
        );
      } else {
        const code = error instanceof ConnectFailed ? error.code : error.name;
        resolve(
          wrong(check, `${where} takes no connection: ${code}`, 'start it, or correct MODEL_WEBHOOK_URL'),
        );
      }
    });
  });
}
