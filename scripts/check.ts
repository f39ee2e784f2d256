import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { readabilityOfDocuments } from '../tests/readability.ts'

/**
 * `npm run check` runs every check that needs no container engine and stops at the first that fails. With
 * `--before-tests` it omits the unit tests, because the caller runs all tests next.
 */
const root = join(import.meta.dirname, '..')
const bin = (name: string) => join(root, 'node_modules', '.bin', name)

const steps: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['format', bin('oxfmt'), ['--check', '.']],
  ['lint', bin('oxlint'), ['--type-aware', '--deny-warnings', '.']],
  ['spelling', process.execPath, [join(root, 'scripts', 'check-spelling.ts')]],
  ['types', bin('tsc'), ['-p', '.']],
  ['types of the pages', bin('tsc'), ['-p', 'packages/dashboard']],
  ['unit, architecture and specification tests', bin('vitest'), ['run', '--project', 'unit']],
  ['specification coverage', process.execPath, [join(root, 'scripts', 'spec.ts')]],
]

const wanted = process.argv.includes('--before-tests')
  ? steps.filter(([name]) => !name.startsWith('unit'))
  : steps

for (const [name, command, args] of wanted) {
  console.log(`\n== ${name}`)
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (done.status !== 0) {
    console.error(`\n${name} failed. Mend it and run npm run check again.`)
    process.exit(1)
  }
}
console.log('\n== readability of the documents: words a sentence, share of sentences above 35 words')
for (const { path, averageWords, longShare } of readabilityOfDocuments().slice(0, 10)) {
  console.log(
    `${averageWords.toFixed(1).padStart(6)}  ${(longShare * 100).toFixed(0).padStart(3)} %  ${path}`,
  )
}
console.log('\nAll checks passed.')
