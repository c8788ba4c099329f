import { readdirSync, readFileSync } from 'node:fs';

/** Processes that were given this folder in their environment. */
export function processesWith(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(folder);
      } catch {
        return false;
      }
    })
    .map(Number);
}
