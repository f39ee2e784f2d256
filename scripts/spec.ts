import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { lessonOffenders, lessonsToProve } from '../tests/coverage-lessons.ts'
import { coverageReport } from '../tests/coverage-report.ts'
import { readCitations, readCoverageFacts } from '../tests/coverage-sources.ts'
import { markStates } from '../tests/coverage-marks.ts'
import { proofsOf } from '../tests/run-record/proofs.ts'
import { readProjectRecords, recordFolder } from '../tests/run-record/test-record.ts'
import { lessons } from '../tests/requirements/lessons.ts'
import { lessonLine, lessonList, plannedList, proofList, recordLine, stateTable } from './spec-text.ts'

const help = `npm run spec -- [options]   The state of each clause of the specification, and what the last run of the tests proved.

  --proofs    list each covered clause with the tests that proved it in that run, or why none did
  --planned   list the clauses that no test cites yet, by area
  --lessons   list each lesson of an older system with the tests that keep it learned, or why none does
  --mark      write the states planned and covered in tests/requirements/ from what the tests cite
  --json      print clauses, counts and offenders as JSON
  --help      print this

What was proved is read from the record that \`npm test\` writes: a test that was skipped or not run proves nothing.
Exits 1 and names each offender when the ledger, the tests and the decisions do not agree.
`

const options = {
  proofs: { type: 'boolean' },
  planned: { type: 'boolean' },
  lessons: { type: 'boolean' },
  mark: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

function markLedger(root: string): string {
  const cited = new Set(readCitations(root).citations.map((citation) => citation.id))
  const lines: string[] = []
  for (const file of globSync('tests/requirements/*.ts', { cwd: root }).sort()) {
    const before = readFileSync(join(root, file), 'utf8')
    const marked = markStates(before, cited)
    if (marked.source !== before) writeFileSync(join(root, file), marked.source)
    lines.push(
      ...marked.covered.map((id) => `${id}: now covered`),
      ...marked.planned.map((id) => `${id}: now planned`),
    )
  }
  return lines.length === 0 ? 'Every state already agrees with the tests.\n' : `${lines.join('\n')}\n`
}

/** Parses the options of this run; undefined if one of them is not in the help text. */
function readOptions() {
  const { values, tokens } = parseArgs({ options, strict: false, tokens: true })
  const wrong = tokens.some(
    (token) => token.kind !== 'option' || !(token.name in options) || token.value !== undefined,
  )
  return wrong ? undefined : values
}

async function main(): Promise<void> {
  const values = readOptions()
  if (values === undefined) {
    process.stderr.write(help)
    process.exitCode = 2
    return
  }
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const root = dirname(dirname(fileURLToPath(import.meta.url)))
  if (values.mark) process.stderr.write(markLedger(root))
  // Imported only now, so that the ledger is read as --mark left it.
  const { requirements } = await import('../tests/requirements.ts')
  const facts = readCoverageFacts(root, requirements)
  const { heeded } = readCitations(root)
  const report = coverageReport(facts)
  const offenders = [...report.offenders, ...lessonOffenders(lessons, heeded)]
  const records = readProjectRecords(join(root, recordFolder))
  const ran = [...records.values()].flatMap((record) => record.tests)
  const proofs = records.size === 0 ? undefined : proofsOf(requirements, ran)
  const lessonProofs = records.size === 0 ? undefined : proofsOf(lessonsToProve(lessons), ran)
  if (values.json) {
    process.stdout.write(
      `${JSON.stringify({ ...report, offenders, clauses: requirements, proofs, lessons, lessonProofs }, undefined, 2)}\n`,
    )
  } else {
    process.stdout.write(`${stateTable(report, requirements, proofs)}\n\n${recordLine(records)}\n`)
    process.stdout.write(`${lessonLine(lessons, lessonProofs)}\n`)
    if (values.proofs) process.stdout.write(`\n${proofList(proofs ?? [])}\n`)
    if (values.planned) process.stdout.write(`\n${plannedList(requirements)}\n`)
    if (values.lessons) process.stdout.write(`\n${lessonList(lessons, heeded)}\n`)
  }
  if (offenders.length === 0) return
  process.stderr.write(`\n${offenders.length} wrong:\n${offenders.map((text) => `  ${text}\n`).join('')}`)
  process.exitCode = 1
}

await main()
