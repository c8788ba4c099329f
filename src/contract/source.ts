/** How a source's object keys are to be read: as field names, as data (never shown), or judged by their look. */
export const KEY_POLICIES = ['auto', 'fields', 'data'] as const;
export type KeyPolicy = (typeof KEY_POLICIES)[number];

/** What names a source may have; `source_<n>` is kept for sources without a name. */
export const SOURCE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
