import { type ClauseId, requirements } from './requirements.ts'

const known: ReadonlySet<string> = new Set(requirements.map((clause) => clause.id))

/**
 * Says which clauses of the specification the surrounding test, or all tests of the surrounding `describe`,
 * prove. Pass literals: coverage is read from the test's source, whether or not the test ran. Throws on an id
 * that no clause has.
 */
export function verifies(...ids: readonly [ClauseId, ...ClauseId[]]): void {
  for (const id of ids) {
    if (!known.has(id)) throw new Error(`tests/requirements.ts has no clause ${id}`)
  }
}
