import type { TextRun } from '../text-run.ts'

/** How one platform writes runs of text. */
export interface Spelling {
  /** The longest message, in what `spell` measures. */
  readonly charsMax: number
  /** Whether words can lead to an address that they are not. */
  readonly keepsLinks: boolean
  readonly spell: (runs: readonly TextRun[]) => Spelled
}

export interface Spelled {
  readonly text: string
  /** As the platform counts it, UTF-16 code units. */
  readonly size: number
}
