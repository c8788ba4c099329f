/**
 * What a template may ask for, written `{{name}}`:
 * `instruction`, the caller's words; `schema`, the schema of `data`; `result`, what to return, as sentences;
 * `result_schema`, the caller's JSON Schema for the result with its introduction, or nothing; `modules`, one
 * line a module with its admitted names.
 */
export const PLACEHOLDERS = ['instruction', 'schema', 'result', 'result_schema', 'modules'] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

/**
 * Fills a template in one pass: what is put in is never looked at again, so an instruction that says
 * `{{schema}}` stays as it is. The template was checked by `placeholderFaults`.
 */
export function fillTemplate(template: string, values: Readonly<Record<Placeholder, string>>): string {
  return template.replace(PLACEHOLDER, (whole, name: string) => values[name.trim() as Placeholder] ?? whole);
}

/** Faults of a pack's templates: unknown placeholders, braces that open none, a placeholder in neither of them. */
export function placeholderFaults(templates: { readonly system: string; readonly user: string }): string[] {
  const faults: string[] = [];
  const used = new Set<string>();
  for (const [file, template] of Object.entries(templates)) {
    for (const [, given = ''] of template.matchAll(PLACEHOLDER)) {
      const name = given.trim();
      used.add(name);
      if (!PLACEHOLDERS.some((known) => known === name)) {
        faults.push(`${file}.md: {{${name.slice(0, 40)}}} is unknown; known are ${PLACEHOLDERS.join(', ')}`);
      }
    }
    // "}}" alone is common in JSON and harmless; "{{" alone is a placeholder gone wrong.
    if (template.replace(PLACEHOLDER, '').includes('{{')) {
      faults.push(`${file}.md: {{ opens no placeholder; write {{name}}, or put a space between the braces`);
    }
  }
  for (const name of PLACEHOLDERS) {
    if (!used.has(name)) faults.push(`system.md, user.md: {{${name}}} stands in neither; add it`);
  }
  return faults;
}
