import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'main/**/*.test.ts',
      'native/**/*.test.ts',
      'app/**/*.test.ts',
      'build/**/*.test.ts',
      'tests/**/*.test.ts',
      'renderer/**/*.test.{ts,tsx}',
    ],
    // Native devices live per process: forks keep one file's device away from another's.
    pool: 'forks',
    maxWorkers: 2,
    // The style sheets' own tests read them; by default vitest empties every style sheet.
    css: { include: /\/renderer\/src\/styles\// },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
