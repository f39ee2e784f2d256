import type { Table } from './table.ts'

/** One claim with its measurement. */
export interface Bench {
  readonly name: string
  readonly claim: string
  readonly defaultRuns: number
  /** The bench takes so long that it runs only if it is named. */
  readonly long?: true
  run(options: BenchOptions): Promise<BenchReport>
}

export interface BenchOptions {
  /** Interleaved rounds; each contender is measured once in each. */
  readonly runs: number
  /** A scratch folder of this run, removed after it. */
  readonly folder: string
  readonly progress: (step: string) => void
  readonly signal: AbortSignal
}

export interface BenchReport {
  readonly tables: readonly Table[]
  /** The figures behind the tables, for `--json`. */
  readonly figures: Readonly<Record<string, unknown>>
}

/** The contenders in an order that moves on with every round, so that no contender is always measured first. Pure. */
export function rotated<Value>(values: readonly Value[], round: number): readonly Value[] {
  const at = values.length === 0 ? 0 : round % values.length
  return [...values.slice(at), ...values.slice(0, at)]
}

/** Returns the message of an error. Pure. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
