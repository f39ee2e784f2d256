import { Transform } from 'node:stream'

/** Marks that a terminal sends around pasted text in XTerm's "bracketed paste" mode. */
const pasteBegins = '\u001B[200~'
const pasteEnds = '\u001B[201~'
export const askForPasteMarks = '\u001B[?2004h'
export const endPasteMarks = '\u001B[?2004l'

/** The sign for a pasted line break in the typed row; a keyboard cannot produce it. */
const lineBreakSign = '\u2424'

/** Returns the typed text with its pasted line breaks restored. Pure. */
export function withLineBreaks(typed: string): string {
  return typed.replaceAll(lineBreakSign, '\n')
}

/** Processes input in chunks and joins pasted lines, so that none of them is submitted separately. */
export function createPasteReader(): (piece: string) => string {
  let pasting = false
  /** The start of a paste mark whose rest has not arrived. */
  let rest = ''
  return (piece) => {
    let text = rest + piece
    rest = ''
    let read = ''
    for (;;) {
      const mark = pasting ? pasteEnds : pasteBegins
      const at = text.indexOf(mark)
      if (at === -1) break
      read += pasting ? oneRow(text.slice(0, at)) : text.slice(0, at)
      text = text.slice(at + mark.length)
      pasting = !pasting
    }
    const kept = pasting ? unfinishedMark(text, pasteEnds, 1) : unfinishedMark(text, pasteBegins, 2)
    rest = text.slice(text.length - kept)
    text = text.slice(0, text.length - kept)
    return read + (pasting ? oneRow(text) : text)
  }
}

const oneRow = (text: string): string => text.replaceAll(/\r\n?|\n/g, lineBreakSign).replaceAll('\t', '    ')

/** Counts the characters at the end that may start `mark`; fewer than `least` do not count (a typed Escape). Pure. */
function unfinishedMark(text: string, mark: string, least: number): number {
  for (let count = Math.min(mark.length - 1, text.length); count >= least; count--)
    if (mark.startsWith(text.slice(-count))) return count
  return 0
}

/**
 * The typed input in pieces of which none continues after a tab: readline treats a tab with keys after it in the same
 * piece as pasted, and completes nothing. Pure.
 */
export function upToTabs(typed: string): string[] {
  return typed.match(/[^\t]*\t|[^\t]+/g) ?? []
}

/** The input of a terminal as readline takes it, with pasted lines in one row. */
export function pastedInput(
  input: NodeJS.ReadableStream & { readonly isTTY?: boolean },
): NodeJS.ReadableStream & { readonly isTTY: true } {
  const read = createPasteReader()
  const decoder = new TextDecoder()
  const filtered = new Transform({
    decodeStrings: false,
    transform(piece: Buffer | string, _encoding, done) {
      const typed = read(typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true }))
      for (const keys of upToTabs(typed)) this.push(keys)
      done()
    },
  })
  const setRawMode: unknown = Reflect.get(input, 'setRawMode')
  return Object.assign(input.pipe(filtered), {
    isTTY: true as const,
    setRawMode: (raw: boolean) => typeof setRawMode === 'function' && setRawMode.call(input, raw),
  })
}
