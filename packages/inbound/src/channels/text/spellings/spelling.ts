import type { TextRun } from '../text-run.ts'

/** How one platform writes runs of text. */
export interface Spelling {
  /** The maximum length of a message, in the unit of `spell`. */
  readonly charsMax: number
  /** True if the platform supports links with labels. */
  readonly keepsLinks: boolean
  readonly spell: (runs: readonly TextRun[]) => Spelled
}

export interface Spelled {
  readonly text: string
  /** The length as the platform counts it, in UTF-16 code units. */
  readonly size: number
}
