import { type Clock, elapsedMs, systemClock } from './clock.ts';
import { engineSandbox, packOf } from './compose-sandbox.ts';
import type { Config } from './config.ts';
import type { CheckState } from './contract/readiness.ts';
import { type Finding, fine, wrong } from './doctor.ts';
import { ledgerFindings } from './doctor-ledger.ts';
import { modelFinding, modelSettings } from './doctor-model.ts';
import { openLedger } from './metering/open-ledger.ts';
import { modelConfigFaults } from './model/choose.ts';
import type { Pack } from './prompt/pack.ts';
import type { SandboxObserver } from './sandbox/observer.ts';
import type { Sandbox } from './sandbox/port.ts';
import { createRemoteSandbox } from './sandbox/remote.ts';
import { openTenants, tenantModel } from './tenants.ts';

/** A stock takes under a second; this is for a machine in trouble. */
const STOCK_MAX_MS = 30_000;
const LOOK_MS = 50;

/** What to do about the check that failed; those after it could not be made then. */
type Fixes = Readonly<Record<string, string>>;
const FIXES: Fixes = {
  engine: 'start the container engine, or set DOCKER_HOST',
  image: 'build it with npm run image, or set SANDBOX_IMAGE to one that the engine has',
  'self-test':
    'have the engine put in force what is named here; where SANDBOX_RUNTIME is set, try without it',
};
/** Where the sandbox is in another process: nothing here is to have an engine. */
const SANDBOXD_FIXES: Fixes = {
  engine: 'start sandboxd, whose log says what stops it, with the same SANDBOXD_SOCKET',
  image: 'build it for the engine of sandboxd (npm run image), or set SANDBOX_IMAGE there',
  'self-test':
    'have the engine of sandboxd put in force what is named here; try without SANDBOX_RUNTIME there',
};

/**
 * Looks at everything that `serve` needs, with the same settings and through the same code, and answers all it
 * finds. Starts containers of its own and removes them; counts nothing and sends nothing to a model. `model`: also
 * opens a connection to the default webhook, without a request.
 */
export async function examine(
  config: Config,
  options: { readonly model: boolean },
): Promise<readonly Finding[]> {
  const packFaults: string[] = [];
  const pack = await packOf(config.PROMPT_PACK_DIR, packFaults);
  const packFinding =
    pack === null
      ? wrong('prompt pack', packFaults.join('; '), 'correct the pack, or unset PROMPT_PACK_DIR')
      : fine('prompt pack', `${pack.digest.slice(0, 19)}…, ${Object.keys(pack.modules).length} modules`);
  return [
    ...(pack === null ? [] : await sandboxFindings(config, pack, systemClock)),
    packFinding,
    tenantsFinding(config),
    ...(await ledgerFindings(config, systemClock, (at) => openLedger(at, { clock: systemClock }))),
    ...modelSettings(config),
    ...(options.model ? [await modelFinding(config, systemClock)] : []),
  ];
}

async function sandboxFindings(config: Config, pack: Pack, clock: Clock): Promise<readonly Finding[]> {
  let ready = 0;
  const startedNs = clock.monotonicNs();
  const observer: SandboxObserver = {
    containerStart: () => {},
    removalFailed: () => {},
    daemonActivity: () => {},
    containers: (phase, count) => {
      ready = phase === 'ready' ? count : ready;
    },
    queueDepth: () => {},
    running: () => {},
    unexpected: () => {},
  };
  let sandbox: Sandbox;
  try {
    sandbox =
      config.SANDBOXD_SOCKET === null
        ? engineSandbox(config, pack, clock, observer)
        : createRemoteSandbox({ socketPath: config.SANDBOXD_SOCKET, maxRuns: 1, clock, observer });
  } catch (error) {
    return [wrong('engine', (error as Error).message, 'correct DOCKER_HOST')];
  }
  try {
    const states = await sandbox.readiness();
    const failed = states.findIndex(({ ok }) => !ok);
    const fixes = config.SANDBOXD_SOCKET === null ? FIXES : SANDBOXD_FIXES;
    const findings = states.map((state, index) => stateFinding(state, index === failed ? fixes : {}));
    const size = config.SANDBOX_POOL_SIZE;
    if (config.SANDBOXD_SOCKET !== null || size === 0 || states.some(({ ok }) => !ok)) {
      return findings;
    }
    while (ready < size && elapsedMs(clock, startedNs) < STOCK_MAX_MS) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    const seconds = (elapsedMs(clock, startedNs) / 1000).toFixed(1);
    return [
      ...findings,
      ready < size
        ? wrong(
            'pool',
            `${ready} of ${size} containers after ${seconds} s`,
            'see the engine’s log; lower SANDBOX_POOL_SIZE',
          )
        : fine('pool', `${size} containers ready in ${seconds} s`),
    ];
  } finally {
    await sandbox.close();
  }
}

function stateFinding({ check, ok, detail }: CheckState, fixes: Fixes): Finding {
  const name = check.replaceAll('_', '-');
  return ok ? fine(name, detail) : wrong(name, detail, fixes[name] ?? '');
}

function tenantsFinding(config: Config): Finding {
  const tenants = openTenants(config.TENANTS_FILE, {
    modelFaults: (tenant) => {
      const own = tenantModel(tenant);
      return own === null ? [] : modelConfigFaults(own, `tenants[${tenant.id}].model`);
    },
    loaded: () => {},
    refused: () => {},
  });
  if ('kind' in tenants) {
    return wrong(
      'tenants file',
      tenants.faults.join('; '),
      'correct the file, or who may read it; compute-step key create prints an entry',
    );
  }
  const count = tenants.list().length;
  tenants.close();
  return fine('tenants file', `${count} tenant${count === 1 ? '' : 's'}`);
}
