import { once } from './once.ts';

/** What asking for a place comes to. `taken`: call `release` once. */
export type PlaceTake =
  | { readonly kind: 'taken'; release(): void }
  | { readonly kind: 'full' }
  | { readonly kind: 'tooLarge' };

export interface RunPlaceOptions {
  /** Runs at once, those that wait for a container included. */
  readonly maxRuns: number;
  /** Data of one run. */
  readonly dataMaxBytes: number;
  /** Data of all runs together. */
  readonly dataInflightMaxBytes: number;
}

/** Bounds what the daemon holds in memory for its clients. At the bound a run is `full`, never queued. */
export class RunPlaces {
  readonly #options: RunPlaceOptions;
  #runs = 0;
  #dataBytes = 0;

  constructor(options: RunPlaceOptions) {
    this.#options = options;
  }

  take(dataBytes: number): PlaceTake {
    const { maxRuns, dataMaxBytes, dataInflightMaxBytes } = this.#options;
    if (dataBytes > dataMaxBytes) {
      return { kind: 'tooLarge' };
    }
    if (this.#runs >= maxRuns || this.#dataBytes + dataBytes > dataInflightMaxBytes) {
      return { kind: 'full' };
    }
    this.#runs += 1;
    this.#dataBytes += dataBytes;
    return {
      kind: 'taken',
      release: once(() => {
        this.#runs -= 1;
        this.#dataBytes -= dataBytes;
      }),
    };
  }
}
