/** A prompt pack: the templates and the modules a function may use. */
export interface Pack {
  readonly name: string;
  readonly version: string;
  readonly language: 'python';
  /** `sha256:…` over file names and bytes. */
  readonly digest: string;
  /** Module name -> its admitted public names. */
  readonly modules: Readonly<Record<string, readonly string[]>>;
  readonly system: string;
  readonly user: string;
}

/** Loads and validates a pack's folder. */
export function loadPack(_dir: string): Promise<Pack> {
  throw new Error('not written yet');
}
