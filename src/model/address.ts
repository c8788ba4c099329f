import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Why an address, host or URL is not called. Closed set; for the log, the caller gets a generic word. */
export const ADDRESS_FAULTS = [
  'not_an_address',
  'not_public',
  'cloud_metadata',
  'plain_http',
  'scheme',
  'credentials',
] as const;
export type AddressFault = (typeof ADDRESS_FAULTS)[number];

/**
 * Addresses at which clouds serve instance credentials or host agents. Most are outside public unicast already;
 * they are named so that not even a listed host can resolve to one. 168.63.129.16 counts as public unicast.
 */
const METADATA_ADDRESSES = [
  '168.63.129.16', // Azure host agent
  '169.254.169.254', // AWS, Azure, Google Cloud, OpenStack and others
  '169.254.170.2', // AWS container credentials
  '169.254.170.23', // AWS pod identity
  '100.100.100.200', // Alibaba Cloud
  '192.0.0.192', // Oracle Cloud
  'fd00:ec2::254', // AWS over IPv6
  'fd00:ec2::23', // AWS pod identity over IPv6
  'fd20:ce::254', // Google Cloud over IPv6
].map((address) => ipaddr.parse(address).toNormalizedString());

/** Where a listed host may live besides public unicast: the ranges self-hosted models are found in. */
const LISTED_RANGES = ['unicast', 'private', 'loopback', 'uniqueLocal', 'carrierGradeNat'];

/**
 * Whether an IP address (text, IPv4 or IPv6, no brackets) may be connected to; null: yes. Only public unicast,
 * minus cloud metadata; IPv4-mapped addresses are judged as IPv4, and of IPv6 only 2000::/3 is public
 * (RFC 4291 has the rest unassigned). `listed`: the operator named this host and port, so private ranges are
 * fine too; link-local, multicast, reserved and metadata addresses still are not.
 */
export function addressFault(address: string, listed: boolean): AddressFault | null {
  if (isIP(address) === 0) return 'not_an_address';
  const parsed = ipaddr.process(address);
  if (METADATA_ADDRESSES.includes(parsed.toNormalizedString())) return 'cloud_metadata';
  const range = parsed.range();
  if (listed && LISTED_RANGES.includes(range)) return null;
  if (range !== 'unicast') return 'not_public';
  const firstByte = parsed.toByteArray()[0] ?? 0;
  return parsed.kind() === 'ipv6' && firstByte >> 5 !== 0b001 ? 'not_public' : null;
}

/** `host:port` of a URL as an allowlist has it: host as the URL parser writes it, port always given. */
export function hostPort(url: URL): string {
  return `${url.hostname}:${url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port}`;
}

/**
 * Reads an operator's allowlist of exact `host:port` entries into the form of `hostPort`. Throws an Error that
 * names every entry that is not one (by position): a list half understood would be a hole or a riddle.
 */
export function readAllowedHosts(entries: readonly string[]): ReadonlySet<string> {
  const hosts = new Set<string>();
  const faults: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const match = /^([^/?#@*\\\s]+):(\d{1,5})$/.exec(entry.trim());
    const text = `http://${match?.[1] ?? ''}/`;
    const url = URL.canParse(text) ? new URL(text) : null;
    const port = Number(match?.[2]);
    if (url === null || url.port !== '' || port < 1 || port > 65_535) faults.push(`entry ${index + 1}`);
    else hosts.add(`${url.hostname}:${port}`);
  }
  if (faults.length > 0) {
    throw new Error(
      `allowed model hosts: ${faults.join(', ')}: write host:port, such as models.internal:8080`,
    );
  }
  return hosts;
}

/**
 * What can be said of a URL before any name is resolved; null: nothing against it. https only, http where the
 * operator listed host and port; no user name or password; an IP literal is judged here as well, since no
 * resolver is asked for it. The URL parser has already read 0x7f.1, 2130706433 and the like as addresses.
 */
export function urlFault(url: URL, allowed: ReadonlySet<string>): AddressFault | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'scheme';
  if (url.username !== '' || url.password !== '') return 'credentials';
  const listed = allowed.has(hostPort(url));
  if (url.protocol === 'http:' && !listed) return 'plain_http';
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(literal) === 0 ? null : addressFault(literal, listed);
}
