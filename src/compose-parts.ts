import { packOf } from './compose-sandbox.ts';
import type { Config } from './config.ts';
import { type LedgerLocation, parseLedgerUrl } from './metering/ledger-url.ts';
import { type ModelConfig, modelConfigFaults } from './model/choose.ts';
import type { Pack } from './prompt/pack.ts';
import type { StepObserver } from './step/observer.ts';
import type { ServiceLog } from './telemetry/logger.ts';
import { openTenants, type Tenants, tenantModel } from './tenants.ts';

/** Why the service cannot start; each line names the setting and the fix. */
export interface StartFaults {
  readonly faults: readonly string[];
}

/** What the service is made from that stands in files and settings. */
export interface Parts {
  readonly pack: Pack;
  readonly tenants: Tenants;
  readonly operatorModel: ModelConfig | null;
  readonly ledgerAt: Exclude<LedgerLocation, { kind: 'invalid' }>;
}

/** Reads every file the service is made from, and reports the faults of all of them at once. */
export async function readParts(
  config: Config,
  log: ServiceLog,
  observer: StepObserver,
): Promise<Parts | StartFaults> {
  const faults: string[] = [];
  const pack = await packOf(config.PROMPT_PACK_DIR, faults);
  const operatorModel = operatorModelOf(config);
  if (operatorModel !== null) {
    faults.push(...modelConfigFaults(operatorModel, 'MODEL_WEBHOOK_URL'));
  }
  const location = parseLedgerUrl(config.LEDGER_URL);
  if (location.kind === 'invalid') {
    faults.push(location.detail);
  }
  const tenants = openTenants(config.TENANTS_FILE, {
    modelFaults: (tenant) => {
      const own = tenantModel(tenant);
      return own === null ? [] : modelConfigFaults(own, `tenants[${tenant.id}].model`);
    },
    loaded: (list) => observer.tenantsLoaded(list.map(({ id }) => id)),
    refused: (refusal) => log.warn('tenants_file_refused', refusal.faults.join('; ')),
  });
  if ('kind' in tenants) {
    faults.push(...tenants.faults);
  }
  if (pack === null || 'kind' in tenants || location.kind === 'invalid' || faults.length > 0) {
    if (!('kind' in tenants)) {
      tenants.close();
    }
    return { faults };
  }
  return { pack, tenants, operatorModel, ledgerAt: location };
}

function operatorModelOf(config: Config): ModelConfig | null {
  const { MODEL_WEBHOOK_URL: url, MODEL_NAME: name, MODEL_AUTHORIZATION: authorization } = config;
  const signingSecret = config.MODEL_SIGNING_SECRET;
  return url === null
    ? null
    : {
        url,
        format: config.MODEL_WEBHOOK_FORMAT,
        ...(name === null ? {} : { name }),
        ...(authorization === null ? {} : { authorization }),
        ...(signingSecret === null ? {} : { signingSecret }),
      };
}
