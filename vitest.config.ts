import { defineConfig } from 'vitest/config';

const PROPERTY_SEED = ['test/fakes/property-seed.ts'];

/** One project a kind of test: what it needs and how long it may take differ. */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'architecture', include: ['test/architecture.test.ts'] } },
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 90_000,
          setupFiles: PROPERTY_SEED,
          globalSetup: ['test/fakes/postgres-shared.ts'],
        },
      },
      {
        test: {
          name: 'app',
          include: ['test/app/**/*.test.ts'],
          testTimeout: 30_000,
          setupFiles: PROPERTY_SEED,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts', 'test/acceptance/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          // One engine on a small machine: files that start containers take turns, after the quick tests.
          fileParallelism: false,
          setupFiles: PROPERTY_SEED,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'deploy',
          include: ['test/deploy/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          fileParallelism: false,
          globalSetup: ['test/deploy/images.ts'],
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
