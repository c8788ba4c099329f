/** Module name -> the public names of it that a function may use. It comes from the prompt pack. */
export type ModuleTable = Readonly<Record<string, readonly string[]>>;

/** The table made ready for look-ups; only its own keys count, so `constructor` is no module. */
export interface AdmittedModules {
  has(module: string): boolean;
  /** Whether some admitted module's name starts with `module.`. */
  isPackage(module: string): boolean;
  /** Whether `name` is an admitted member of `module` that is not a module itself. */
  admits(module: string, name: string): boolean;
  readonly names: readonly string[];
  /** The admitted members of an admitted module in a few words for a hint; null for any other module. */
  offer(module: string): string | null;
}

/** The most members that a hint names; a model knows the rest by their kind. */
const MAX_OFFERED = 40;

/** Prepares a pack's module table. */
export function admittedModules(table: ModuleTable): AdmittedModules {
  const members = new Map(Object.entries(table).map(([module, names]) => [module, new Set(names)]));
  const names = [...members.keys()].sort();
  return {
    names,
    has: (module) => members.has(module),
    isPackage: (module) => names.some((name) => name.startsWith(`${module}.`)),
    offer(module) {
      const admitted = members.get(module);
      if (admitted === undefined) return null;
      const more = admitted.size > MAX_OFFERED ? ' and others' : '';
      return `Admitted of ${module}: ${[...admitted].slice(0, MAX_OFFERED).join(', ')}${more}.`;
    },
    admits: (module, name) => members.get(module)?.has(name) === true,
  };
}
