import { parseLedgerUrl } from './metering/ledger-url.ts';
import { parseEngineAddress } from './sandbox/engine-address.ts';

/** How a setting's text becomes a value; throws an Error whose message is the fix, and holds nothing of the text. */
export type Parse<T> = (text: string) => T;

export const MIB = 1024 * 1024;

export function integer(min: number, max: number): Parse<number> {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return value;
  };
}

export function decimal(min: number, max: number): Parse<number> {
  return (text) => {
    const value = Number(text);
    if (!/^\d+(\.\d+)?$/.test(text) || value < min || value > max) {
      throw new Error(`must be a number from ${min} to ${max}`);
    }
    return value;
  };
}

/** Bytes as a whole number, or with KiB or MiB behind it. */
export function bytes(min: number, max: number): Parse<number> {
  return (text) => {
    const match = /^(\d+)\s*(KiB|MiB)?$/.exec(text);
    const unit = match?.[2] === 'MiB' ? MIB : match?.[2] === 'KiB' ? 1024 : 1;
    const value = Number(match?.[1]) * unit;
    if (match === null || value < min || value > max) {
      throw new Error(`must be a number of bytes from ${min} to ${max}, such as 1048576 or 1 MiB`);
    }
    return value;
  };
}

export function oneOf<const T extends string>(names: readonly T[]): Parse<T> {
  return (text) => {
    const found = names.find((name) => name === text);
    if (found === undefined) {
      throw new Error(`must be one of ${names.join(', ')}`);
    }
    return found;
  };
}

export const text: Parse<string> = (value) => value;

export function matching(pattern: RegExp, fix: string): Parse<string> {
  return (value) => {
    if (!pattern.test(value)) {
      throw new Error(fix);
    }
    return value;
  };
}

export function webUrl(value: string): string {
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    throw new Error('must be a full URL, such as https://models.example.com/write');
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new Error('must begin with https:// (or http:// for a host in MODEL_ALLOWED_HOSTS)');
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('must not hold a user name or password; use MODEL_AUTHORIZATION');
  }
  return value;
}

export function otlpEndpoint(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Error('must be a full http or https URL, such as http://collector:4318');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new Error('must not hold a user name, password or query; use OTEL_EXPORTER_OTLP_HEADERS');
  }
  return value;
}

/** Pairs as in W3C Baggage, which is how OpenTelemetry writes header lists; names in lower case. */
export function headerList(value: string): Readonly<Record<string, string>> {
  const pairs = value.split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name = '', encoded = ''] =
        /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
      const decoded = percentDecoded(encoded);
      if (name === '' || decoded === null || !/^[\x20-\x7e]+$/.test(decoded)) {
        throw new Error('must be name=value pairs with commas between them, values percent-encoded ASCII');
      }
      return [name.toLowerCase(), decoded];
    }),
  );
}

function percentDecoded(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

export function engineHost(value: string): string {
  try {
    parseEngineAddress(value);
  } catch (error) {
    throw new Error((error as Error).message.replace(/^DOCKER_HOST /, ''));
  }
  return value;
}

/** The kernel's structure has room for 107 bytes, and what is longer would be cut without a word. */
const SOCKET_PATH_MAX_BYTES = 107;

export function socketPath(value: string): string {
  if (!value.startsWith('/') || value.includes('\0') || Buffer.byteLength(value) > SOCKET_PATH_MAX_BYTES) {
    throw new Error(`must be an absolute path of at most ${SOCKET_PATH_MAX_BYTES} bytes`);
  }
  return value;
}

export function ledgerUrl(value: string): string {
  const location = parseLedgerUrl(value);
  if (location.kind === 'invalid') {
    throw new Error(location.detail.replace(/^LEDGER_URL /, ''));
  }
  return value;
}

export function hostList(value: string): readonly string[] {
  const hosts = value.split(/[\s,]+/).filter((host) => host !== '');
  for (const host of hosts) {
    if (!/^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/.test(host)) {
      throw new Error('must be a list of exact host:port entries, such as models.internal:8000, [::1]:8000');
    }
  }
  return hosts.map((host) => host.toLowerCase());
}
