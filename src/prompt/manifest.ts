/** What `pack.json` says. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly language: 'python';
  /** Module name -> its admitted public names. */
  readonly modules: Readonly<Record<string, readonly string[]>>;
}

const FIELDS = ['name', 'version', 'language', 'modules'];
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
const VERSION = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/;
const MODULE = /^[A-Za-z_]\w{0,63}(?:\.[A-Za-z_]\w{0,63}){0,4}$/;
const PUBLIC_NAME = /^[A-Za-z]\w{0,127}$/;
const MAX_MODULES = 200;
const MAX_NAMES = 2_000;

/**
 * Reads `pack.json`; null where something is wrong, and every fault, with its field and fix, is added to
 * `faults`. Refused besides wrong types: unknown fields, names that are not public Python identifiers (`and_`
 * is, `_os` is not), names given twice, a table without modules.
 */
export function readManifest(text: string, faults: string[]): Manifest | null {
  const before = faults.length;
  const fault = (field: string, fix: string) => faults.push(`pack.json: ${field}: ${fix}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    faults.push('pack.json: is not JSON');
    return null;
  }
  if (!isObject(value)) {
    faults.push(`pack.json: must be an object with ${FIELDS.join(', ')}`);
    return null;
  }
  for (const field of Object.keys(value)) {
    if (!FIELDS.includes(field))
      fault(JSON.stringify(field), `remove it; the fields are ${FIELDS.join(', ')}`);
  }
  const { name, version, language, modules } = value;
  if (typeof name !== 'string' || !NAME.test(name)) fault('name', 'give lower-case letters, digits, hyphens');
  if (typeof version !== 'string' || !VERSION.test(version))
    fault('version', 'give a string such as "1.0.0"');
  if (language !== 'python') fault('language', 'must be "python"');
  if (!isObject(modules)) fault('modules', 'give an object: module name -> list of its admitted names');
  else moduleFaults(modules, fault);
  return faults.length > before ? null : (value as unknown as Manifest);
}

function moduleFaults(modules: Record<string, unknown>, fault: (field: string, fix: string) => void): void {
  const entries = Object.entries(modules);
  if (entries.length === 0) fault('modules', 'name at least one module');
  if (entries.length > MAX_MODULES) fault('modules', `at most ${MAX_MODULES} modules`);
  for (const [module, names] of entries.slice(0, MAX_MODULES)) {
    const field = `modules[${JSON.stringify(module)}]`;
    if (!MODULE.test(module)) fault(field, 'is not the name of a Python module');
    if (!Array.isArray(names) || names.length === 0 || names.length > MAX_NAMES) {
      fault(field, `give a list of 1 to ${MAX_NAMES} names`);
      continue;
    }
    const seen = new Set<unknown>();
    for (const [index, admitted] of names.entries()) {
      if (typeof admitted !== 'string' || !PUBLIC_NAME.test(admitted)) {
        fault(`${field}[${index}]`, 'give a public Python name: letters, digits, _, no _ at the beginning');
      } else if (seen.has(admitted)) fault(`${field}[${index}]`, `${admitted} is given twice; remove one`);
      seen.add(admitted);
    }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
