import { joinRuns } from '../text-run.ts'
import type { RunLink, RunStyle, TextRun } from '../text-run.ts'
import type { Spelled } from './spelling.ts'

/** What a platform that marks text with characters has of its own. */
export interface LineMarks {
  readonly bold: string
  readonly italic: string
  readonly strike: string
  /** Words as they are read, outside of code. `isLineStart` where nothing stands before them. */
  readonly escape: (text: string, isLineStart: boolean) => string
  readonly code: (text: string) => string
  readonly block: (text: string, language: string) => string
  /** `label` is spelled already, `text` what is read of it. */
  readonly link: (link: RunLink, label: string, text: string) => string
  /** Whether a mark counts only beside what is no letter and no digit. */
  readonly wantsEdges: boolean
  /** The last pass over the whole: takes the sting out of what calls people. */
  readonly guard: (spelled: string) => string
}

/** Between two marks that would be read as one; nobody sees it. */
const edge = '\u200B'

// With `u` this engine does not see a letter of two code units at the end of a text; with `v` it does.
const endsInWord = /[\p{L}\p{N}]$/v
const blank = /\s/
const beginsWithWord = /^[\p{L}\p{N}]/u

/**
 * Every stretch of one style is opened and closed by itself and within its line, blanks outside: so no mark can be left
 * open, whatever is cut. Pure.
 */
export function spellMarked(runs: readonly TextRun[], marks: LineMarks): Spelled {
  const lines = linesOf(joinRuns(runs).runs)
  const text = marks.guard(lines.map((line) => spellLine(line, marks)).join('\n'))
  return { text, size: text.length }
}

type Line = readonly TextRun[]

/** A block of code is one line of its own, whatever stands before it. */
function linesOf(runs: readonly TextRun[]): Line[] {
  const lines: TextRun[][] = [[]]
  for (const run of runs) {
    if (run.style.block !== null) {
      if (lines.at(-1)!.length > 0) lines.push([])
      lines.at(-1)!.push(run)
      continue
    }
    const [first, ...others] = run.text.split('\n')
    if (first !== '') {
      if (lines.at(-1)![0]?.style.block != null) lines.push([])
      lines.at(-1)!.push({ text: first!, style: run.style })
    }
    for (const other of others) lines.push(other === '' ? [] : [{ text: other, style: run.style }])
  }
  return lines
}

function spellLine(line: Line, marks: LineMarks): string {
  const first = line[0]
  if (first === undefined) return ''
  if (first.style.block !== null) return marks.block(first.text, first.style.block.language)
  const spelled = createLine(marks)
  for (let index = 0; index < line.length; index += 1) {
    const { link } = line[index]!.style
    if (link === null) {
      spelled.add(line[index]!)
      continue
    }
    const label: TextRun[] = []
    while (line[index]?.style.link === link) label.push(line[index++]!)
    index -= 1
    spelled.addLink(link, label)
  }
  return (first.style.quote ? '> ' : '') + spelled.text()
}

/** Puts stretches side by side, and what is needed between them. */
function createLine(marks: LineMarks) {
  const parts: string[] = []
  let lastRead = ''
  let isInAddress = false
  let endsMarked = false

  function put(spelled: string, read: string, isMarked: boolean): void {
    const meets = isMarked && endsMarked
    const touches =
      marks.wantsEdges &&
      ((isMarked && (endsInWord.test(lastRead) || isInAddress)) || (endsMarked && beginsWithWord.test(read)))
    parts.push(meets || touches ? edge + spelled : spelled)
    lastRead = read
    isInAddress = endsInAddress(read, isInAddress)
    endsMarked = isMarked
  }

  function add(run: TextRun): void {
    const { style } = run
    // Behind an address that is no link of ours a closing mark would be taken for its end.
    const holdsAddress = marks.wantsEdges && !style.code && run.text.includes('://')
    if (holdsAddress || !isMarked(style))
      return put(marks.escape(run.text, parts.length === 0), run.text, false)
    const inner = run.text.trim()
    if (inner === '') return put(run.text, run.text, false)
    const at = run.text.indexOf(inner)
    const [before, after] = [run.text.slice(0, at), run.text.slice(at + inner.length)]
    if (before !== '') put(before, before, false)
    put(wrap(style, inner, marks), inner, true)
    if (after !== '') put(after, after, false)
  }

  return {
    add,
    addLink: (link: RunLink, runs: readonly TextRun[]) => {
      const text = runs.map(({ text }) => text).join('')
      const label = createLine(marks)
      for (const run of runs) label.add({ text: run.text, style: { ...run.style, link: null } })
      put(marks.link(link, label.text(), text), text, true)
    },
    text: () => parts.join(''),
  }
}

function wrap(style: RunStyle, text: string, marks: LineMarks): string {
  let spelled = style.code ? marks.code(text) : marks.escape(text, false)
  if (style.strike) spelled = marks.strike + spelled + marks.strike
  if (style.italic) spelled = marks.italic + spelled + marks.italic
  if (style.bold) spelled = marks.bold + spelled + marks.bold
  return spelled
}

function isMarked(style: RunStyle): boolean {
  return style.bold || style.italic || style.strike || style.code
}

/** Where a platform makes a link of an address, the mark behind it would become a part of it. `before` says it of what stands before. */
function endsInAddress(text: string, before: boolean): boolean {
  // From the end: a pattern that ends there is tried from every place before it, which takes time by the square.
  let at = text.length
  while (at > 0 && !blank.test(text[at - 1]!)) at -= 1
  const last = text.slice(at)
  return last.includes('://') || (before && last.length === text.length)
}
