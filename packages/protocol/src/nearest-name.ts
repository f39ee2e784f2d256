/** Limit for a typed name; no known one is longer. */
const comparedMaxChars = 64

/** The known name that was most likely meant, or null if none is similar. Pure. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const furthestEdits = Math.max(2, Math.floor(name.length / 4))
  let best: { name: string; edits: number } | null = null
  for (const candidate of known) {
    const edits = editsBetween(name, candidate)
    if (edits <= furthestEdits && (best === null || edits < best.edits)) best = { name: candidate, edits }
  }
  return best?.name ?? null
}

/** The known names, most similar first. Pure. */
export function nearestNames(name: string, known: readonly string[], namesMax: number): readonly string[] {
  const comparedName = name.slice(0, comparedMaxChars).toLowerCase()
  return known
    .map((candidate) => ({ candidate, edits: editsBetween(comparedName, candidate.toLowerCase()) }))
    .toSorted((a, b) => a.edits - b.edits)
    .slice(0, namesMax)
    .map(({ candidate }) => candidate)
}

/** Levenshtein's count of inserted, removed and replaced characters. */
function editsBetween(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let line = 1; line <= left.length; line++) {
    const next = [line]
    for (let column = 1; column <= right.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (left[line - 1] === right[column - 1] ? 0 : 1)
      next.push(Math.min((row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1, replaced))
    }
    row = next
  }
  return row[right.length] ?? 0
}

/** How many known names a hint lists if none of them is similar. */
const listedMax = 10

/**
 * Completes an error about an unknown name: suggests the name that was most likely meant, else lists the known names
 * after the words in `listed`, such as “the agents are”. Pure.
 */
export function hintOfName(name: string, known: readonly string[], listed: string): string {
  if (known.length === 0) return 'none exist yet'
  const near = nearestName(name, known)
  if (near !== null) return `did you mean ${near}?`
  const more = known.length > listedMax ? ` and ${known.length - listedMax} more` : ''
  return `${listed} ${known.slice(0, listedMax).join(', ')}${more}`
}
