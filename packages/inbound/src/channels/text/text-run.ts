/**
 * A part of a message with one style. A message is visible text as consecutive runs. Every
 * platform's markup is written from runs, so that a cut never divides markup.
 */
export interface TextRun {
  readonly text: string
  readonly style: RunStyle
}

export interface RunStyle {
  readonly bold: boolean
  readonly italic: boolean
  readonly strike: boolean
  /** True for inline code. */
  readonly code: boolean
  /** The link of the run, an object that all runs of the link share; null outside of links. */
  readonly link: RunLink | null
  /** The code block of the run, an object that all runs of the block share; null outside of blocks. */
  readonly block: CodeBlock | null
  readonly quote: boolean
}

export interface RunLink {
  /** The target of the link: an http or https address as `URL` formats it, without a user name. */
  readonly href: string
  /** The address as written in the text, if the address is its own label; otherwise null. */
  readonly written: string | null
}

export interface CodeBlock {
  /** The language of the code block: letters, digits and `+#_.-`; empty if no language is named. */
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

/** The runs of a message and their start offsets. */
export interface RunText {
  readonly runs: readonly TextRun[]
  /** The visible text of all runs. */
  readonly text: string
  readonly starts: readonly number[]
}

/** Returns the runs with neighbors of the same style merged. Pure. */
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

/** Returns the index of the run that contains the character at `at`. Pure. */
export function runIndexAt({ starts }: RunText, at: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= at) low = middle
    else high = middle - 1
  }
  return low
}

/** Returns the runs between `from` and `to`. Pure. */
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
