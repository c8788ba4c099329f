import { createHash } from 'node:crypto';
import type { Attempt } from '../contract/computation.ts';
import type { ModelTarget } from '../model/port.ts';
import type { Prompt } from '../prompt/render.ts';
import type { StepObserver } from './observer.ts';
import { SingleFlight } from './single-flight.ts';
import type { Written } from './written.ts';

/** A function that was admitted, and the attempts it took. It saw no value, so nothing private is kept. */
export interface KeptFunction {
  readonly text: string;
  readonly attempts: readonly Attempt[];
}

export interface FunctionCacheOptions {
  /** Functions kept a tenant; past it the one that was not used for longest goes. 0 keeps none. */
  readonly entriesPerTenant: number;
  readonly observer: Pick<StepObserver, 'functionCache'>;
}

/** Bytes kept a tenant: past it the function that was not used for longest goes, as past the number of entries. */
const TENANT_MAX_BYTES = 4 * 1024 * 1024;
/** Bytes kept over all tenants: past it the tenant that asked least recently loses all of its functions. */
const TOTAL_MAX_BYTES = 128 * 1024 * 1024;
/** What an entry costs besides its texts. */
const ENTRY_BYTES = 512;

interface Entry extends KeptFunction {
  readonly bytes: number;
}

interface Shelf {
  /** In the order of use, the oldest first. */
  readonly entries: Map<string, Entry>;
  bytes: number;
}

/**
 * The functions that models wrote, by what they were asked: in memory, bounded, a shelf a tenant that no other
 * tenant can reach. `writing` lets simultaneous askers of one tenant share one call.
 */
export class FunctionCache {
  readonly writing = new SingleFlight<Written>();
  readonly #options: FunctionCacheOptions;
  /** In the order of use, the oldest first; a tenant without an entry has no shelf. */
  readonly #shelves = new Map<string, Shelf>();
  #bytes = 0;

  constructor(options: FunctionCacheOptions) {
    this.#options = options;
  }

  /** The function kept under a key of the tenant's own, or null. */
  find(tenant: string, key: string): KeptFunction | null {
    const shelf = this.#shelves.get(tenant);
    const entry = shelf?.entries.get(key);
    if (shelf === undefined || entry === undefined) {
      return null;
    }
    this.#shelves.delete(tenant);
    this.#shelves.set(tenant, shelf);
    shelf.entries.delete(key);
    shelf.entries.set(key, entry);
    return entry;
  }

  /** Keeps a function in place of what was there, and drops what is past the bounds. */
  store(tenant: string, key: string, { text, attempts }: KeptFunction): void {
    if (this.#options.entriesPerTenant === 0) {
      return;
    }
    const shelf = this.#shelves.get(tenant) ?? { entries: new Map(), bytes: 0 };
    this.#drop(shelf, key);
    const bytes = ENTRY_BYTES + 2 * (text.length + JSON.stringify(attempts).length);
    shelf.entries.set(key, { text, attempts, bytes });
    shelf.bytes += bytes;
    this.#bytes += bytes;
    this.#shelves.delete(tenant);
    this.#shelves.set(tenant, shelf);
    this.#options.observer.functionCache('stored');
    for (const [oldest] of shelf.entries) {
      if (shelf.entries.size <= this.#options.entriesPerTenant && shelf.bytes <= TENANT_MAX_BYTES) {
        break;
      }
      this.#evict(shelf, oldest);
    }
    for (const [other, { entries }] of this.#shelves) {
      if (this.#bytes <= TOTAL_MAX_BYTES) {
        break;
      }
      for (const [each] of entries) {
        this.evict(other, each);
      }
    }
  }

  /** Drops an entry; with `text` only if it is still that function. */
  evict(tenant: string, key: string, text?: string): void {
    const shelf = this.#shelves.get(tenant);
    const entry = shelf?.entries.get(key);
    if (shelf === undefined || entry === undefined || (text !== undefined && entry.text !== text)) {
      return;
    }
    this.#evict(shelf, key);
    if (shelf.entries.size === 0) {
      this.#shelves.delete(tenant);
    }
  }

  #evict(shelf: Shelf, key: string): void {
    this.#drop(shelf, key);
    this.#options.observer.functionCache('evicted');
  }

  #drop(shelf: Shelf, key: string): void {
    const bytes = shelf.entries.get(key)?.bytes ?? 0;
    shelf.entries.delete(key);
    shelf.bytes -= bytes;
    this.#bytes -= bytes;
  }
}

/**
 * The key of what is asked: SHA-256 over the prompt (its pack's digest is part of it) and the model that is asked
 * (URL, format, name, parameters). No header is part of it: whose key pays does not change what is written.
 */
export function functionKey(prompt: Prompt, target: ModelTarget): string {
  return digest([
    prompt.system,
    prompt.user,
    prompt.resultType,
    prompt.packDigest,
    target.url.href,
    target.format,
    target.name,
    target.parameters,
  ]);
}

/** Who may share a call: the same key, as many attempts, and the same headers, as a wrong credential fails alone. */
export function flightKey(tenant: string, key: string, target: ModelTarget, maxAttempts: number): string {
  return digest([tenant, key, maxAttempts, target.headers]);
}

/** JSON parts any two lists of parts. */
function digest(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
