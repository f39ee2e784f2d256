import type { LedgerClause } from '../coverage-report.ts'
import type { RecordedTest } from './test-record.ts'

/** State of a clause after a run: `not run` if no test that cites it ran to its end. */
export type ProofState = 'proved' | 'failed' | 'not run'

export interface Proof {
  readonly id: string
  readonly state: ProofState
  /** The tests that cite the clause, in the order in which they were recorded. */
  readonly tests: readonly RecordedTest[]
}

/** What a run proved of the clauses that are held as they stand, and of those that were decided otherwise. */
export function proofsOf(
  clauses: readonly Pick<LedgerClause, 'id' | 'state'>[],
  tests: readonly RecordedTest[],
): readonly Proof[] {
  const citing = new Map<string, RecordedTest[]>()
  for (const test of tests) {
    for (const id of test.verifies) {
      const known = citing.get(id)
      if (known === undefined) citing.set(id, [test])
      else known.push(test)
    }
  }
  return clauses
    .filter((clause) => clause.state === 'covered' || clause.state === 'deviates')
    .map(({ id }) => {
      const found = citing.get(id) ?? []
      return { id, state: stateOf(found), tests: found }
    })
}

/** One test that failed is enough against a clause; one that was skipped says nothing. */
function stateOf(tests: readonly RecordedTest[]): ProofState {
  if (tests.some((test) => test.state === 'failed')) return 'failed'
  return tests.some((test) => test.state === 'passed') ? 'proved' : 'not run'
}

/** One sentence for each of these clauses that the run did not prove. */
export function unproved(proofs: readonly Proof[]): readonly string[] {
  return proofs.flatMap(({ id, state, tests }) => {
    if (state === 'proved') return []
    const of = tests.map((test) => `${test.file} "${test.name}" (${test.state})`)
    const cited = of.length === 0 ? 'no test that cites it was among those run' : of.join(', ')
    return [`${id}: ${state}; ${cited}`]
  })
}
