import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { type AddressFault, addressFault } from './address.ts';

/** All addresses of a host name, as text. */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

export const systemResolver: Resolver = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);

/** A connection that was not made because of where it would have gone. */
export class AddressRefused extends Error {
  readonly fault: AddressFault;
  constructor(fault: AddressFault) {
    super('the address is not allowed');
    this.fault = fault;
  }
}

/** A connection that could not be made; nothing was sent. `code` is Node's, such as ECONNREFUSED. */
export class ConnectFailed extends Error {
  readonly code: string;
  constructor(cause: unknown) {
    super('no connection');
    this.code = errorCode(cause);
  }
}

/** Node's or undici's code of an error, else its class; never its message, which can hold received bytes. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') return code;
  const first = error instanceof AggregateError ? error.errors[0] : undefined;
  return first === undefined ? error.name : errorCode(first);
}

/** More addresses than any honest name has; past it the name is not resolved at all. */
const MAX_ADDRESSES = 64;

/** A connection that is not there after this long counts as failed, so that a retry can still help. */
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * The resolving half of a connection, judged: every address of the name is checked and one bad address refuses
 * the name (mixed A records); what is connected to is what was checked, so a name that changes in between
 * (DNS rebinding) gains nothing.
 */
export function guardedLookup(resolve: Resolver, listed: boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        if (addresses.length === 0 || addresses.length > MAX_ADDRESSES) {
          callback(Object.assign(new Error('no usable addresses'), { code: 'ENODATA' }), '', 0);
          return;
        }
        for (const address of addresses) {
          const fault = addressFault(address, listed);
          if (fault !== null) {
            callback(new AddressRefused(fault), '', 0);
            return;
          }
        }
        const pinned = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = pinned;
        if (options.all === true || first === undefined) callback(null, pinned);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
}

/**
 * Opens sockets to judged addresses only; IP literals are judged here again, because no lookup happens for
 * them. `listed`: the host and port stand in the operator's allowlist. Errors are AddressRefused or ConnectFailed.
 */
export function guardedConnector(resolve: Resolver, listed: boolean): buildConnector.connector {
  const open = buildConnector({
    allowH2: false,
    timeout: CONNECT_TIMEOUT_MS,
    lookup: guardedLookup(resolve, listed),
  } as buildConnector.BuildOptions);
  return (options, callback) => {
    const fault = isIP(options.hostname) === 0 ? null : addressFault(options.hostname, listed);
    if (fault !== null) {
      callback(new AddressRefused(fault), null);
      return;
    }
    open(options, (error, socket) => {
      if (error === null) callback(null, socket);
      else callback(error instanceof AddressRefused ? error : new ConnectFailed(error), null);
    });
  };
}
