import { type Problem, type ProblemCode, problem } from '../contract/problem.ts';
import type { JsonObject } from '../contract/result-type.ts';
import { FORMATS } from './formats.ts';
import { readHeaders } from './headers.ts';
import { MODEL_FORMATS, type ModelFormat, type ModelTarget } from './port.ts';
import { signingSecretFault } from './signature.ts';

/** A model as a caller names it: what it carries is the caller's own. */
export interface CallerModel {
  readonly url: string;
  readonly format?: ModelFormat;
  readonly name?: string;
  /** Passed on in the provider formats; the `compute-step` format has no place for them. */
  readonly parameters?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A model as an operator or a tenants file names it. */
export interface ModelConfig extends CallerModel {
  /**
   * The `Authorization` value. One without a scheme (no space in it) is a bare key and goes where the format
   * has its keys: `x-api-key` for `anthropic`.
   */
  readonly authorization?: string;
  /** Standard Webhooks secret, `whsec_<base64>`. */
  readonly signingSecret?: string;
}

/** Everybody who may name a model for one step. */
export interface ModelChoice {
  readonly caller: CallerModel | null;
  readonly tenant: ModelConfig | null;
  readonly operator: ModelConfig | null;
  /** The tenant's `allow_model_url`; null where it is not set: yes only if there is no default model. */
  readonly allowModelUrl: boolean | null;
}

const MAX_URL_CHARS = 2_048;
const MAX_NAME_CHARS = 256;
const MAX_PARAMETERS_BYTES = 32 * 1024;

interface Fault {
  readonly code: ProblemCode;
  readonly text: string;
}

/**
 * The model to ask: the caller's, else the tenant's, else the operator's, each AS A WHOLE, so that nobody's
 * authorization or signing secret reaches a URL it was not configured beside. Refuses with `model_url_refused`
 * a caller's model the tenant may not name, with `invalid_request` a faulty one or none at all.
 */
export function chooseTarget({
  caller,
  tenant,
  operator,
  allowModelUrl,
}: ModelChoice): ModelTarget | Problem {
  const standard = tenant ?? operator;
  if (caller !== null) {
    if (!(allowModelUrl ?? standard === null)) {
      return problem(
        'model_url_refused',
        'model: this tenant may not name a model of its own; leave it out to use the configured one.',
        { cause: 'allow_model_url is off' },
      );
    }
    const { url, format, name, parameters, headers } = caller;
    return answer(
      // Member by member: whatever else the object holds, an `authorization` or a secret, is not the caller's to give.
      readTarget(
        {
          url,
          ...(format && { format }),
          ...(name && { name }),
          ...(parameters && { parameters }),
          ...(headers && { headers }),
        },
        'model',
      ),
    );
  }
  if (standard === null) {
    return problem('invalid_request', 'model: give one; no default model is configured.');
  }
  return answer(readTarget(standard, 'the default model'));
}

/** Every fault of a configured model, each naming the field under `field` and the fix; for a check at start. */
export function modelConfigFaults(config: ModelConfig, field: string): readonly string[] {
  const read = readTarget(config, field);
  return 'faults' in read ? read.faults.map(({ text }) => text) : [];
}

function answer(
  read: { readonly target: ModelTarget } | { readonly faults: readonly Fault[] },
): ModelTarget | Problem {
  if ('target' in read) return read.target;
  const [first] = read.faults;
  return problem(first?.code ?? 'invalid_request', `${read.faults.map(({ text }) => text).join('; ')}.`);
}

function readTarget(
  config: ModelConfig,
  field: string,
): { readonly target: ModelTarget } | { readonly faults: readonly Fault[] } {
  const faults: Fault[] = [];
  const fault = (text: string, code: ProblemCode = 'invalid_request') => faults.push({ code, text });
  let formatName = config.format ?? 'compute-step';
  if (!MODEL_FORMATS.includes(formatName)) {
    fault(`${field}.format: must be one of ${MODEL_FORMATS.join(', ')}`);
    formatName = 'compute-step';
  }
  const format = FORMATS[formatName];

  let url: URL | null = null;
  if (config.url.length > MAX_URL_CHARS || !URL.canParse(config.url)) {
    fault(`${field}.url: give an absolute URL of at most ${MAX_URL_CHARS} characters`);
  } else {
    url = new URL(config.url);
    url.hash = '';
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      fault(`${field}.url: must be https`, 'model_url_refused');
    }
    if (url.username !== '' || url.password !== '') {
      fault(
        `${field}.url: must not hold a user name or a password; use ${field}.headers`,
        'model_url_refused',
      );
    }
  }

  const name = config.name ?? null;
  if (name === null ? format.needsName : name.trim() === '' || name.length > MAX_NAME_CHARS) {
    fault(
      `${field}.name: give the model's name, at most ${MAX_NAME_CHARS} characters; format ${formatName} needs it`,
    );
  }

  const parameters = config.parameters ?? {};
  for (const member of format.reserved) {
    if (Object.hasOwn(parameters, member))
      fault(`${field}.parameters.${member}: remove it; it is written by the service`);
  }
  if (Object.hasOwn(parameters, 'stream') && parameters.stream !== false) {
    fault(`${field}.parameters.stream: remove it; the answer is read as a whole`);
  }
  if (Buffer.byteLength(JSON.stringify(parameters)) > MAX_PARAMETERS_BYTES) {
    fault(`${field}.parameters: at most ${MAX_PARAMETERS_BYTES} bytes of JSON`);
  }

  const read = readHeaders(config.headers ?? {}, `${field}.headers`);
  if ('fault' in read) fault(read.fault);
  const headers = 'fault' in read ? {} : { ...read.headers };

  if (config.authorization !== undefined) {
    const bare = !config.authorization.trim().includes(' ');
    const header = bare ? format.keyHeader : 'authorization';
    const value = readHeaders({ [header]: config.authorization.trim() }, field);
    if ('fault' in value || config.authorization.trim() === '') {
      fault(`${field}.authorization: give one line of Latin-1 text of at most 8 KiB`);
    } else if (Object.hasOwn(headers, header)) {
      fault(`${field}.headers.${header}: remove it; authorization sets it`);
    } else {
      Object.assign(headers, value.headers);
    }
  }

  const signingSecret = config.signingSecret ?? null;
  const secretFault = signingSecret === null ? null : signingSecretFault(signingSecret);
  if (secretFault !== null) fault(`${field}.signing_secret: ${secretFault}`);

  if (url === null || faults.length > 0) return { faults };
  return { target: { url, format: formatName, name, parameters, headers, signingSecret } };
}
