import type { Equivalent } from './equivalents/equivalent.ts'

/** The used part of Stryker's `MutantResult`. */
export interface Mutant {
  readonly fileName: string
  readonly location: { readonly start: Place; readonly end: Place }
  readonly mutatorName: string
  readonly replacement?: string | undefined
  readonly status: string
}

interface Place {
  /** Both from 1. */
  readonly line: number
  readonly column: number
}

export interface GroupScore {
  readonly group: string
  readonly mutants: number
  readonly killed: number
  readonly timedOut: number
  /** Mutants that a test ran and none killed, without equivalent ones. */
  readonly survived: number
  readonly uncovered: number
  readonly equivalent: number
  /** Killed or timed-out mutants as a share of all that are not equivalent, percent. */
  readonly score: number
}

export interface ShownMutant {
  readonly file: string
  /** Counted from 1. */
  readonly lineNumber: number
  readonly line: string
  readonly becomes: string
  readonly mutator: string
  readonly uncovered: boolean
}

export interface Judgement {
  readonly score: GroupScore
  readonly survivors: readonly ShownMutant[]
  /** Entries of the list that match no surviving mutant of this group. */
  readonly stale: readonly Equivalent[]
}

/** Stryker's statuses that count; the others (compile error, broken runtime, ignored) are no mutants. */
const counted = ['Killed', 'Timeout', 'Survived', 'NoCoverage'] as const

export interface GroupRun {
  readonly group: string
  readonly files: readonly string[]
  readonly mutants: readonly Mutant[]
  /** Returns the source of a file without mutants. */
  readonly sourceOf: (file: string) => string
}

/** Counts a group's mutants, leaving out the survivors that are listed as equivalent. Pure. */
export function judgeMutants(run: GroupRun, equivalents: readonly Equivalent[]): Judgement {
  const listed = equivalents.filter((entry) => run.files.includes(entry.file))
  const met = new Set<Equivalent>()
  const survivors: ShownMutant[] = []
  for (const mutant of run.mutants) {
    if (mutant.status !== 'Survived' && mutant.status !== 'NoCoverage') continue
    const shown = showMutant(mutant, run.sourceOf(mutant.fileName))
    const entry = listed.find((one) => isSame(one, shown))
    if (entry) met.add(entry)
    else survivors.push(shown)
  }
  const count = (status: (typeof counted)[number]) =>
    run.mutants.filter((mutant) => mutant.status === status).length
  const alive = survivors.length
  const detected = count('Killed') + count('Timeout')
  const uncovered = survivors.filter((one) => one.uncovered).length
  const mutants = counted.reduce((sum, status) => sum + count(status), 0)
  const score: GroupScore = {
    group: run.group,
    mutants,
    killed: count('Killed'),
    timedOut: count('Timeout'),
    survived: alive - uncovered,
    uncovered,
    equivalent: mutants - detected - alive,
    score: detected + alive === 0 ? 0 : (100 * detected) / (detected + alive),
  }
  return { score, survivors, stale: listed.filter((entry) => !met.has(entry)) }
}

function isSame(entry: Equivalent, shown: ShownMutant): boolean {
  return entry.file === shown.file && entry.line === shown.line && entry.becomes === shown.becomes
}

function showMutant(mutant: Mutant, source: string): ShownMutant {
  const { start, end } = mutant.location
  const lines = source.split('\n')
  const first = lines[start.line - 1] ?? ''
  const last = lines[end.line - 1] ?? ''
  const before = first.slice(0, start.column - 1)
  const after = last.slice(end.column - 1)
  return {
    file: mutant.fileName,
    lineNumber: start.line,
    line: first.trim(),
    becomes: `${before}${mutant.replacement ?? ''}${after}`.trim(),
    mutator: mutant.mutatorName,
    uncovered: mutant.status === 'NoCoverage',
  }
}

const columns = [
  'group',
  'mutants',
  'killed',
  'survived',
  'timed out',
  'no coverage',
  'equivalent',
  'score',
] as const

/** A heading and one line for each group. */
export function scoreTable(scores: readonly GroupScore[]): string {
  const rows = scores.map((one) => [
    one.group,
    ...[one.mutants, one.killed, one.survived, one.timedOut, one.uncovered, one.equivalent].map(String),
    `${one.score.toFixed(1)} %`,
  ])
  const widths = columns.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)))
  return [[...columns], ...rows]
    .map((row) =>
      row
        .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
