/**
 * One time limit over several steps: `signal` aborts after `ms`, or with the first of `others`. `passed` tells
 * the two apart. `clear` must be called: it takes the listeners off signals that live longer.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #others: readonly AbortSignal[];
  #passed = false;

  constructor(ms: number, others: readonly AbortSignal[]) {
    this.#others = others;
    this.#timer = setTimeout(() => {
      this.#passed = !this.signal.aborted;
      this.#controller.abort();
    }, ms);
    for (const other of others) {
      other.addEventListener('abort', this.#abort);
      if (other.aborted) this.#abort();
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get passed(): boolean {
    return this.#passed;
  }

  clear(): void {
    clearTimeout(this.#timer);
    for (const other of this.#others) other.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => this.#controller.abort();
}
