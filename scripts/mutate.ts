import { globSync, mkdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import { measuredPatience } from '../tests/support/patience.ts'
import { equivalents } from './mutation/equivalents/all-equivalents.ts'
import { judgeMutants, scoreTable } from './mutation/judge-mutants.ts'
import type { GroupScore, Judgement } from './mutation/judge-mutants.ts'
import { mutationGroups } from './mutation/mutation-groups.ts'
import type { MutationGroup } from './mutation/mutation-groups.ts'

const help = `npm run mutate -- [group ...] [options]   Changes the files that decide, one spot at a time, and sees whether a test notices.

  --workers N   mutants tried at the same time (1)
  --kept        take over from the last run of a group what neither its files nor its tests changed; for a quick
                look only, since of what is made at import it takes over too much
  --only FILE   of a group only the files whose paths end so; can be given several times
  --nice N      how far it steps back for what else runs on this machine, 0 to 19 (10)
  --help        print this

Groups, all where none is named:
${mutationGroups.map(({ name, decides }) => `  ${name.padEnd(12)}${decides}`).join('\n')}

Exits 1 where less than 90 % of a group's mutants are killed, or its list of equivalent ones is not true.
`

const root = join(import.meta.dirname, '..')
const leastScore = 90
/**
 * Timeout of a mutant on top of three times the duration without mutants, ms; generous, so that a busy machine does
 * not count as an endless loop.
 */
const timeoutMs = 20_000

const options = {
  workers: { type: 'string', default: '1' },
  kept: { type: 'boolean', default: false },
  only: { type: 'string', multiple: true },
  nice: { type: 'string', default: '10' },
  help: { type: 'boolean', default: false },
} as const

async function mutateGroup(
  group: MutationGroup,
  how: { workers: number; kept: boolean },
): Promise<Judgement> {
  console.log(`\n== ${group.name}: ${group.decides}`)
  const tests = group.tests.flatMap((pattern) => globSync(pattern, { cwd: root }))
  if (tests.length === 0) throw new Error(`no file is a test of ${group.name}`)
  process.env['FLOTILLA_MUTATION_TESTS'] = tests.join(',')
  const mutants = await new Stryker({
    mutate: [...group.files],
    testRunner: 'vitest',
    vitest: { configFile: 'scripts/mutation/vitest.config.ts', related: false },
    plugins: ['@stryker-mutator/vitest-runner', join(root, 'scripts', 'mutation', 'ignore-sentences.ts')],
    ignorers: ['sentences'],
    // Stryker would rewrite the TypeScript settings with an older compiler; the tests need none.
    ignorePatterns: ['docs/**', '!docs/people.md', 'bench', 'cassettes', 'tsconfig*.json'],
    coverageAnalysis: 'perTest',
    concurrency: how.workers,
    disableTypeChecks: false,
    timeoutFactor: 3,
    timeoutMS: timeoutMs * measuredPatience(),
    incremental: true,
    incrementalFile: join('node_modules', '.cache', 'mutation', `${group.name}.json`),
    force: !how.kept,
    reporters: ['progress-append-only'],
    tempDirName: '.stryker-tmp',
    cleanTempDir: 'always',
    allowConsoleColors: false,
  }).runMutationTest()
  return judgeMutants(
    {
      group: group.name,
      files: group.files,
      // Results kept from an earlier run may be of a file that has moved to another group.
      mutants: mutants
        .map((mutant) => ({
          ...mutant,
          fileName: isAbsolute(mutant.fileName) ? relative(root, mutant.fileName) : mutant.fileName,
        }))
        .filter(({ fileName }) => group.files.includes(fileName)),
      sourceOf: (file) => readFileSync(join(root, file), 'utf8'),
    },
    equivalents,
  )
}

function tellGroup({ score, survivors, stale }: Judgement): void {
  for (const one of survivors) {
    const why = one.uncovered ? 'no test runs it' : 'survived'
    console.log(
      `\n${one.file}:${one.lineNumber}  ${one.mutator}, ${why}\n  - ${one.line}\n  + ${one.becomes}`,
    )
  }
  for (const one of stale) {
    console.log(`\n${one.file}: listed as equivalent, and none such survived; take it from the list`)
    console.log(`  - ${one.line}\n  + ${one.becomes}`)
  }
  console.log(`\n${scoreTable([score])}`)
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  if (values.help) {
    console.log(help)
    return 0
  }
  const workers = Number(values.workers)
  const niceness = Number(values.nice)
  const unknown = positionals.filter((name) => !mutationGroups.some((group) => group.name === name))
  if (unknown.length > 0 || !isWithin(workers, 1, 64) || !isWithin(niceness, 0, 19)) {
    console.error(help)
    return 2
  }
  setPriority(niceness)
  process.chdir(root)
  process.env['FLOTILLA_TEST_PATIENCE'] = String(measuredPatience())
  mkdirSync(join(root, 'node_modules', '.cache', 'mutation'), { recursive: true })
  const scores: GroupScore[] = []
  let isTrue = true
  for (const group of mutationGroups) {
    if (positionals.length > 0 && !positionals.includes(group.name)) continue
    const files = group.files.filter((file) => values.only?.some((end) => file.endsWith(end)) ?? true)
    if (files.length === 0) continue
    try {
      const judgement = await mutateGroup({ ...group, files }, { workers, kept: values.kept })
      tellGroup(judgement)
      scores.push(judgement.score)
      isTrue &&= judgement.stale.length === 0
    } catch (error) {
      console.error(`\n${group.name} was not judged:`, error)
      isTrue = false
    }
  }
  console.log(`\n${scoreTable(scores)}`)
  return isTrue && scores.every(({ score }) => score >= leastScore) ? 0 : 1
}

function isWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most
}

process.exitCode = await main()
