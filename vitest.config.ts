import { defineConfig } from 'vitest/config'

/**
 * Four projects, from fast to slow. `unit` needs nothing but Node; `flows` and `security` start real mesh
 * and agent processes; `docker` needs an engine and runs one file at a time, since containers share it.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          globalSetup: ['tests/temporary-folder.ts'],
          include: [
            'packages/*/src/**/*.test.ts',
            'tests/*.test.ts',
            'tests/chaos/**/*.test.ts',
            'scripts/**/*.test.ts',
          ],
          exclude: ['**/docker-*.test.ts'],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'flows',
          globalSetup: ['tests/temporary-folder.ts'],
          include: ['tests/flows/**/*.test.ts', 'tests/security/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'docker',
          globalSetup: ['tests/temporary-folder.ts'],
          include: ['tests/docker/**/*.test.ts', 'packages/mesh/src/sandbox/docker-*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 600_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
