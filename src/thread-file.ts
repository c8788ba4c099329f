/** What `new Worker` takes for a file of the service: its URL, and how node is to load it. */
export interface ThreadFile {
  readonly url: URL;
  readonly execArgv: string[];
}

/**
 * The file of a worker thread beside the module `from` (its `import.meta.url`): `<name>.js` as built, `<name>.ts`
 * when run from the sources, where the thread has to register tsx by itself (`--import tsx` is for main threads).
 */
export function threadFile(from: string, name: string): ThreadFile {
  const fromSource = from.endsWith('.ts');
  return {
    url: new URL(`./${name}.${fromSource ? 'ts' : 'js'}`, from),
    execArgv: fromSource ? ['--import', new URL('./register-tsx.mjs', import.meta.url).href] : [],
  };
}
