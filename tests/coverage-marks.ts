export interface MarkedSource {
  readonly source: string
  /** Ids that went from planned to covered. */
  readonly covered: readonly string[]
  /** Ids that went from covered back to planned. */
  readonly planned: readonly string[]
}

const clauseState = /\bid: '([^']+)', state: '(planned|covered)'/g

/**
 * Updates the states in one file of clauses to what the tests cite: `planned` becomes `covered` where a test cites
 * the clause, and `covered` becomes `planned` where no test does. Nothing else in the file changes.
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
