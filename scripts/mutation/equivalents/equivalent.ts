/** A mutant that no test can kill, because it changes nothing that a caller can observe. */
export interface Equivalent {
  readonly file: string
  /** The line at which the mutant begins, trimmed. */
  readonly line: string
  /** The mutant's replacement. */
  readonly becomes: string
  readonly reason: string
}

export function inFile(file: string, entries: readonly Omit<Equivalent, 'file'>[]): readonly Equivalent[] {
  return entries.map((entry) => ({ file, ...entry }))
}

/** Several entries with one reason, each as its line and the replacement. */
export function allSince(
  reason: string,
  changes: readonly (readonly [line: string, becomes: string])[],
): readonly Omit<Equivalent, 'file'>[] {
  return changes.map(([line, becomes]) => ({ line, becomes, reason }))
}
