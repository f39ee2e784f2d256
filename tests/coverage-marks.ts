export interface MarkedSource {
  readonly source: string
  /** Ids that went from planned to covered. */
  readonly covered: readonly string[]
  /** Ids that went from covered back to planned. */
  readonly planned: readonly string[]
}

const clauseState = /\bid: '([^']+)', state: '(planned|covered)'/g

/**
 * Rewrites the states in one file of the ledger to what the tests cite: planned becomes covered where a test
 * cites the clause, covered becomes planned where none does. Nothing else in the file changes.
 */
export function markStates(source: string, cited: ReadonlySet<string>): MarkedSource {
  const covered: string[] = []
  const planned: string[] = []
  const marked = source.replaceAll(clauseState, (whole: string, id: string, state: string) => {
    const next = cited.has(id) ? 'covered' : 'planned'
    if (next === state) return whole
    if (next === 'covered') covered.push(id)
    else planned.push(id)
    return `id: '${id}', state: '${next}'`
  })
  return { source: marked, covered, planned }
}
