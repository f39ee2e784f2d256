import { TestRunner } from 'vitest'
import { type ClauseId, requirements } from './requirements.ts'

const known: ReadonlySet<string> = new Set(requirements.map((clause) => clause.id))
const metaName = 'verifies'

/**
 * Says which clauses of the specification the surrounding test, or all tests of the surrounding `describe`,
 * prove. It is noted at the test that runs, so that only a test that ran and passed proves anything. Pass
 * literals: what is cited is also read from the source. Throws on an id that no clause has, and where no test
 * and no group of tests is around it.
 */
export function verifies(...ids: readonly [ClauseId, ...ClauseId[]]): void {
  for (const id of ids) {
    if (!known.has(id)) throw new Error(`tests/requirements.ts has no clause ${id}`)
  }
  const holder = TestRunner.getCurrentTest() ?? TestRunner.getCurrentSuite().suite
  if (holder === undefined) throw new Error('verifies belongs into a test or into the describe around tests')
  if (holder.type === 'test' && holder.concurrent === true) {
    throw new Error('of tests that run at once none can be told apart: let verifies stand in their describe')
  }
  const meta: object = holder.meta
  Object.assign(meta, { [metaName]: [...citedBy(meta), ...ids] })
}

/** The clauses that a test or a group of tests bears, by its meta. */
export function citedBy(meta: object): readonly string[] {
  const ids: unknown = Reflect.get(meta, metaName)
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
}
