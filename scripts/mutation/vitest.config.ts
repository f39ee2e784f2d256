import { statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'
import { patience } from '../../tests/support/patience.ts'
import { packageAliases } from './package-aliases.ts'

/** The root of the copy that contains the mutants. */
const root = join(import.meta.dirname, '..', '..')

/**
 * Orders test files by size, the smallest first: the first failure ends a mutant, and the small test beside the
 * changed file kills most of them. By default vitest starts with the slowest files. It requires the order as a
 * class.
 */
class SmallestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sizeOf = ({ moduleId }: TestSpecification) => statSync(moduleId).size
    return files.toSorted((left, right) => sizeOf(left) - sizeOf(right))
  }
}

/** The tests of one group, as `npm run mutate` names them. */
export default defineConfig({
  root,
  resolve: { alias: [...packageAliases(root)] },
  test: {
    globalSetup: ['tests/temporary-folder.ts'],
    include: (process.env['FLOTILLA_MUTATION_TESTS'] ?? '').split(','),
    // Each mutant gets a new worker; in it the files share the modules, which halves its time.
    isolate: false,
    sequence: { sequencer: SmallestFirst },
    testTimeout: 20_000 * patience,
    hookTimeout: 20_000 * patience,
  },
})
