import process from 'node:process'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './tests/longest-first.ts'
import { longContainerTests, longFlows, longPageTests } from './tests/long-tests.ts'
import { measuredPatience } from './tests/support/patience.ts'

// Measured once, before the workers begin, which inherit it.
const patience = measuredPatience()
process.env['FLOTILLA_TEST_PATIENCE'] = String(patience)
const expectation = { poll: { timeout: 5000 * patience } }

const onEngine = {
  expect: expectation,
  globalSetup: ['tests/temporary-folder.ts'],
  testTimeout: 100_000 * patience,
  hookTimeout: 200_000 * patience,
}

const testOf = (name: string): string => `tests/docker/${name}.test.ts`
/** These change what all containers of this machine share: images, limits of a user. */
const shared = ['image-origin', 'old-images', 'sandbox-image', 'sandbox-shared'].map(testOf)
/** Measures how long the machine halts. */
const alone = ['stalls'].map(testOf)

const flows = {
  expect: expectation,
  globalSetup: ['tests/temporary-folder.ts'],
  testTimeout: 60_000 * patience,
  hookTimeout: 60_000 * patience,
  // These tests wait for leases, ticks and processes; more workers only make each start of a mesh slower.
  maxWorkers: 6,
  isolate: false,
}

const pages = {
  expect: expectation,
  globalSetup: ['tests/temporary-folder.ts', 'tests/browser/set-up.ts'],
  testTimeout: 60_000 * patience,
  hookTimeout: 60_000 * patience,
  maxWorkers: 3,
  isolate: false,
}

const containers = {
  ...onEngine,
  // Most of their time is waiting for small shares of a processor.
  maxWorkers: 5,
  isolate: false,
}

/**
 * `npm test` runs five projects: `unit` needs only Node; `flows` (with `security`) starts real mesh and agent
 * processes; `browser` opens the pages with the distribution's Chromium; `docker` needs an engine; `docker-shared`
 * has the container tests that run alone on the engine. `npm run test:long` runs `flows-long`, `browser-long`,
 * `docker-long`, and `docker-alone`, which measures how long the machine halts. `kubernetes` runs inside the cluster that `npm run
 * test:kubernetes` creates. Time limits are those of a quiet machine, multiplied by what this machine showed; they
 * detect a hung test and judge nothing.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // What one project had transformed of the sources, the next need not.
    fsModuleCache: true,
    projects: [
      {
        test: {
          name: 'unit',
          expect: expectation,
          globalSetup: ['tests/temporary-folder.ts'],
          include: [
            'packages/*/src/**/*.test.ts',
            'tests/*.test.ts',
            'tests/chaos/**/*.test.ts',
            'tests/kubernetes/cluster/**/*.test.ts',
            'tests/providers/**/*.test.ts',
            'tests/run-record/**/*.test.ts',
            'scripts/**/*.test.ts',
          ],
          exclude: ['**/docker-*.test.ts', ...longFlows],
          testTimeout: 20_000 * patience,
          hookTimeout: 20_000 * patience,
          // Importing a module does nothing and keeps nothing (tests/architecture.test.ts), so files share what
          // they import.
          isolate: false,
          maxWorkers: 2,
        },
      },
      {
        test: {
          ...flows,
          name: 'flows',
          include: ['tests/flows/**/*.test.ts', 'tests/security/**/*.test.ts'],
          exclude: [...longFlows],
        },
      },
      // Files in one process are among these and use a whole processor, so fewer files run at once.
      { test: { ...flows, name: 'flows-long', include: [...longFlows], maxWorkers: 4 } },
      {
        test: {
          ...pages,
          name: 'browser',
          include: ['tests/browser/**/*.test.ts'],
          exclude: [...longPageTests],
        },
      },
      { test: { ...pages, name: 'browser-long', include: [...longPageTests] } },
      {
        test: {
          ...containers,
          name: 'docker',
          include: ['tests/docker/**/*.test.ts', 'packages/fleet/src/sandbox/docker/docker-*.test.ts'],
          exclude: [...shared, ...alone, ...longContainerTests],
        },
      },
      { test: { ...containers, name: 'docker-long', include: [...longContainerTests] } },
      {
        test: {
          ...onEngine,
          name: 'docker-shared',
          include: shared,
          fileParallelism: false,
        },
      },
      {
        test: {
          ...onEngine,
          name: 'docker-alone',
          include: alone,
          fileParallelism: false,
        },
      },
      {
        test: {
          ...onEngine,
          name: 'kubernetes',
          include: ['tests/kubernetes/*.test.ts'],
          fileParallelism: false,
        },
      },
    ],
  },
})
