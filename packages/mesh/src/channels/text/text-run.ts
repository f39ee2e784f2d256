/**
 * A message as what one reads of it, and how: runs of text, one after the other, each with one style. Every spelling is
 * made of these, so that a cut between two characters is a cut of runs and never of somebody's markup.
 */
export interface TextRun {
  readonly text: string
  readonly style: RunStyle
}

export interface RunStyle {
  readonly bold: boolean
  readonly italic: boolean
  readonly strike: boolean
  /** Code within a line. */
  readonly code: boolean
  /** One object for all runs of one link. */
  readonly link: RunLink | null
  /** One object for all of one block. */
  readonly block: CodeBlock | null
  readonly quote: boolean
}

export interface RunLink {
  /** http or https, as `URL` writes it, without a user name. */
  readonly href: string
  /** The address as it stands in the text, where it is its own label; null where the label is another. */
  readonly written: string | null
}

export interface CodeBlock {
  /** Letters, digits and `+#_.-`; empty for none. */
  readonly language: string
}

export const plainStyle: RunStyle = {
  bold: false,
  italic: false,
  strike: false,
  code: false,
  link: null,
  block: null,
  quote: false,
}

/** A message of runs, and where each begins. */
export interface RunText {
  readonly runs: readonly TextRun[]
  /** All that is read. */
  readonly text: string
  readonly starts: readonly number[]
}

/** Neighbours of one style become one run. Pure. */
export function joinRuns(runs: readonly TextRun[]): RunText {
  const joined: { parts: string[]; style: RunStyle }[] = []
  for (const { text, style } of runs) {
    const last = joined.at(-1)
    if (text === '') continue
    if (last !== undefined && sameStyle(last.style, style)) last.parts.push(text)
    else joined.push({ parts: [text], style })
  }
  const whole = joined.map(({ parts, style }) => ({ text: parts.join(''), style }))
  const starts: number[] = []
  let at = 0
  for (const { text } of whole) {
    starts.push(at)
    at += text.length
  }
  return { runs: whole, text: whole.map(({ text }) => text).join(''), starts }
}

/** The index of the run that holds the character at `at`. Pure. */
export function runIndexAt({ starts }: RunText, at: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= at) low = middle
    else high = middle - 1
  }
  return low
}

/** What stands from `from` up to `to`. Pure. */
export function sliceRuns(whole: RunText, from: number, to: number): TextRun[] {
  const slice: TextRun[] = []
  for (let index = runIndexAt(whole, from); index < whole.runs.length; index += 1) {
    const start = whole.starts[index]!
    if (start >= to) break
    const { text, style } = whole.runs[index]!
    slice.push({ text: text.slice(Math.max(0, from - start), to - start), style })
  }
  return slice
}

export function sameStyle(one: RunStyle, other: RunStyle): boolean {
  return (
    one === other ||
    (one.bold === other.bold &&
      one.italic === other.italic &&
      one.strike === other.strike &&
      one.code === other.code &&
      one.link === other.link &&
      one.block === other.block &&
      one.quote === other.quote)
  )
}
