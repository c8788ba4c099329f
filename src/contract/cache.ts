/**
 * What a step does with the function cache: neither look nor keep; take the function kept for the same prompt;
 * have it written anew and keep that.
 */
export const CACHE_MODES = ['off', 'use', 'refresh'] as const;
export type CacheMode = (typeof CACHE_MODES)[number];
