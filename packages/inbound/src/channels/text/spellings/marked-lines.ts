import { joinRuns } from '../text-run.ts'
import type { RunLink, RunStyle, TextRun } from '../text-run.ts'
import type { Spelled } from './spelling.ts'

/** The markup of a platform that marks text with characters. */
export interface LineMarks {
  readonly bold: string
  readonly italic: string
  readonly strike: string
  /** Escapes text outside of code. `isLineStart` is true at the start of a line. */
  readonly escape: (text: string, isLineStart: boolean) => string
  readonly code: (text: string) => string
  readonly block: (text: string, language: string) => string
  /** Writes a link. `label` already has the platform's markup; `text` is the visible text of the label. */
  readonly link: (link: RunLink, label: string, text: string) => string
  /** True if a mark works only next to a character that is not a letter or digit. */
  readonly wantsEdges: boolean
  /** Disables mentions, in a last pass over the whole text. */
  readonly guard: (spelled: string) => string
}

/** A zero-width space between two marks that a platform would otherwise read as one mark. */
const edge = '\u200B'

// With flag `u`, this JavaScript engine misses a letter of two code units at the end of a text; with `v` it finds it.
const endsInWord = /[\p{L}\p{N}]$/v
const blank = /\s/
const beginsWithWord = /^[\p{L}\p{N}]/u

/**
 * Writes runs with marks that open and close within one line, and with spaces outside of the marks.
 * No cut can therefore leave a mark open. Pure.
 */
export function spellMarked(runs: readonly TextRun[], marks: LineMarks): Spelled {
  const lines = linesOf(joinRuns(runs).runs)
  const text = marks.guard(lines.map((line) => spellLine(line, marks)).join('\n'))
  return { text, size: text.length }
}

type Line = readonly TextRun[]

/** Divides the runs into lines. A code block is always a line of its own. */
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

/** Builds a line from styled stretches of text, with separators between marks where necessary. */
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
    // A closing mark behind an address that is not a link would become part of the address.
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

/**
 * True if the text ends in an address, because a mark behind it becomes part of the platform's
 * automatic link. `before` says whether the preceding text ended in an address.
 */
function endsInAddress(text: string, before: boolean): boolean {
  // Searches from the end, because a regular expression that is anchored at the end takes quadratic time.
  let at = text.length
  while (at > 0 && !blank.test(text[at - 1]!)) at -= 1
  const last = text.slice(at)
  return last.includes('://') || (before && last.length === text.length)
}
