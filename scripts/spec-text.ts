import { type LessonState, stateOfLesson } from '../tests/coverage-lessons.ts'
import type { Citation, CoverageReport, CoverageRow, LedgerClause } from '../tests/coverage-report.ts'
import { type Lesson, lessonId } from '../tests/requirements/lessons.ts'
import type { Proof } from '../tests/run-record/proofs.ts'
import type { ProjectRecord } from '../tests/run-record/test-record.ts'

const columns = ['covered', 'planned', 'outside', 'deviates', 'total'] as const
const proofColumns = ['proved', 'failed', 'not run'] as const

/** Counts the clauses of each section by state and, after a run, the covered ones that it proved. */
export function stateTable(
  report: CoverageReport,
  clauses: readonly LedgerClause[],
  proofs: readonly Proof[] | undefined,
): string {
  const sectionById = new Map(clauses.map((clause) => [clause.id, clause.section]))
  const proofCells = ({ section }: CoverageRow): readonly number[] =>
    proofColumns.map(
      (state) =>
        (proofs ?? []).filter(
          (proof) => proof.state === state && (section === 'total' || sectionById.get(proof.id) === section),
        ).length,
    )
  const line = (row: CoverageRow): string =>
    tableLine([
      row.section,
      ...columns.map((column) => row[column]),
      ...(proofs === undefined ? [] : proofCells(row)),
    ])
  const head = tableLine(['section', ...columns, ...(proofs === undefined ? [] : proofColumns)])
  const rule = '-'.repeat(head.length)
  return [head, rule, ...report.rows.map(line), rule, line(report.total)].join('\n')
}

function tableLine(cells: readonly (string | number)[]): string {
  return cells
    .map((cell, index) => (index === 0 ? String(cell).padEnd(16) : String(cell).padStart(9)))
    .join('')
}

/** Lists the clauses that no test cites yet, by the area that will. */
export function plannedList(clauses: readonly LedgerClause[]): string {
  const planned = clauses.filter((clause) => clause.state === 'planned')
  return [...Map.groupBy(planned, (clause) => clause.by ?? 'no area')]
    .sort(([left], [right]) => left.localeCompare(right))
    .map(([area, rows]) =>
      [`${area} (${rows.length})`, ...rows.map(({ id, text }) => `  ${id.padEnd(56)} ${text}`)].join('\n'),
    )
    .join('\n\n')
}

/** Lists each covered clause, its state, and the tests that cite it. */
export function proofList(proofs: readonly Proof[]): string {
  return proofs
    .map(({ id, state, tests }) =>
      [
        `${state.padEnd(8)} ${id}`,
        ...tests.map((test) => `  ${test.state.padEnd(8)} ${test.file}  ${test.name}`),
      ].join('\n'),
    )
    .join('\n')
}

/** Counts the lessons that tests heed and, after a run, those that it proved. */
export function lessonLine(lessons: readonly Lesson[], proofs: readonly Proof[] | undefined): string {
  const count = (state: LessonState): number =>
    lessons.filter((lesson) => stateOfLesson(lesson) === state).length
  const proved =
    proofs === undefined ? '' : ` (${proofs.filter(({ state }) => state === 'proved').length} proved)`
  return `Lessons: ${lessons.length}; ${count('heeded')} heeded by tests${proved}, ${count('planned')} planned, ${count('outside')} outside.`
}

/** Lists each lesson with the tests that heed it, or the reason why none does. */
export function lessonList(lessons: readonly Lesson[], heeded: readonly Citation[]): string {
  return lessons
    .map((lesson) => {
      const { number, title, planned, outside } = lesson
      const reason = planned === undefined ? outside : `comes with ${planned}`
      const citing = heeded.filter(({ id }) => id === lessonId(number)).map(({ at }) => at)
      return [
        `${stateOfLesson(lesson).padEnd(8)} ${String(number).padStart(3)} ${title}`,
        ...(reason === undefined ? citing : [reason]).map((line) => `             ${line}`),
      ].join('\n')
    })
    .join('\n')
}

/** Names the run from which the proofs are. */
export function recordLine(records: ReadonlyMap<string, ProjectRecord>): string {
  if (records.size === 0) return 'No run is recorded: npm test and npm run test:long record what they proved.'
  const runs = [...records].map(
    ([project, { startedAt, tests }]) => `${project} (${tests.length} tests, ${startedAt})`,
  )
  return `Proofs are of the last npm test and npm run test:long: ${runs.join(', ')}.`
}
