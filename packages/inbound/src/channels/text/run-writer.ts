import { judgeLink } from './safe-link.ts'
import type { CodeBlock, RunLink, RunStyle, TextRun } from './text-run.ts'
import { plainStyle } from './text-run.ts'

/**
 * How much text link targets may add to an answer, in UTF-16 code units. A link reference that is defined once can be
 * used a thousand times.
 */
const addedCharsMax = 64_000

type Toggle = 'bold' | 'italic' | 'strike'

/** Builds the runs of an answer and inserts the line breaks between blocks. */
export interface RunWriter {
  /** Ensures at least this many line breaks before the text that follows. */
  readonly gap: (lines: number) => void
  readonly write: (text: string, own?: Partial<RunStyle>) => void
  readonly writeBlock: (text: string, language: string) => void
  readonly change: (toggle: Toggle, by: 1 | -1) => void
  readonly changeQuote: (by: 1 | -1) => void
  readonly openLink: (target: string, isWritten: boolean) => void
  readonly closeLink: () => void
  readonly isInLink: () => boolean
  readonly runs: readonly TextRun[]
  /** True if `judgeLink` did not allow at least one link of the text. */
  readonly refusedLink: () => boolean
}

/** Creates a writer. `keepsLinks` is false if the platform's links have no labels: addresses then follow labels. */
export function createRunWriter(keepsLinks: boolean): RunWriter {
  const runs: TextRun[] = []
  const depth = { bold: 0, italic: 0, strike: 0, quote: 0 }
  let wantedGap = 0
  let hadQuote = false
  let addedChars = 0
  let hasRefused = false
  let link: { readonly target: string; readonly isWritten: boolean; readonly from: number } | null = null

  function separate(): void {
    if (wantedGap > 0 && runs.length > 0) {
      runs.push({
        text: '\n'.repeat(wantedGap),
        style: { ...plainStyle, quote: hadQuote && depth.quote > 0 },
      })
    }
    wantedGap = 0
    hadQuote = depth.quote > 0
  }

  function write(text: string, own: Partial<RunStyle> = {}): void {
    if (text === '') return
    separate()
    runs.push({
      text,
      style: {
        ...plainStyle,
        bold: depth.bold > 0,
        italic: depth.italic > 0,
        strike: depth.strike > 0,
        quote: depth.quote > 0,
        ...own,
      },
    })
  }

  /**
   * Writes the address after the label, unless the label is the address. With a link, the address is written as it
   * is: a separator in it would break it.
   */
  function writeAddress(address: string, label: string, to: RunLink | null = null): void {
    if (label.trim() === address || addedChars + address.length > addedCharsMax) return
    addedChars += address.length
    if (label !== '') write(' (', unmarked)
    write(address, to === null ? unmarked : { ...unmarked, code: false, link: to })
    if (label !== '') write(')', unmarked)
  }

  function restyle(index: number, own: Partial<RunStyle>): void {
    const { text, style } = runs[index]!
    runs[index] = { text: text.replaceAll('\n', ' '), style: { ...style, ...own } }
  }

  function closeLink(): void {
    if (link === null) return
    const { target, isWritten, from } = link
    link = null
    const label = runs
      .slice(from)
      .map(({ text }) => text)
      .join('')
    const verdict = judgeLink(target, label)
    if (verdict.kind !== 'link') {
      hasRefused = true
      if (isWritten) for (let index = from; index < runs.length; index += 1) restyle(index, unmarked)
      if (verdict.kind === 'shown') writeAddress(verdict.address, label)
      return
    }
    const isBare = isWritten || label === verdict.href
    if (!keepsLinks && !isBare) {
      const written = fitsBare.test(verdict.href) ? verdict.href : null
      return writeAddress(verdict.href, label, written === null ? null : { href: verdict.href, written })
    }
    if (addedChars + verdict.href.length > addedCharsMax) return
    addedChars += verdict.href.length
    const marked: RunLink = { href: verdict.href, written: isBare && fitsBare.test(label) ? label : null }
    if (label === '') return write(verdict.href, { link: { href: verdict.href, written: verdict.href } })
    // Code within a link loses its code style, because no platform shows code as a link.
    for (let index = from; index < runs.length; index += 1) restyle(index, { code: false, link: marked })
  }

  return {
    gap: (lines) => {
      wantedGap = Math.max(wantedGap, lines)
    },
    write,
    writeBlock: (text, language) => {
      const block: CodeBlock = { language }
      write(text, { ...plainStyle, block })
    },
    change: (toggle, by) => {
      depth[toggle] += by
    },
    changeQuote: (by) => {
      depth.quote += by
    },
    openLink: (target, isWritten) => {
      separate()
      link = { target, isWritten, from: runs.length }
    },
    closeLink,
    isInLink: () => link !== null,
    runs,
    refusedLink: () => hasRefused,
  }
}

/** The style of an address: no emphasis, because a platform would read marks next to an address as part of it. */
const unmarked: Partial<RunStyle> = { bold: false, italic: false, strike: false }

/** Matches an address that can be written between `<` and `>`. */
const fitsBare = /^https?:\/\/[^\s<>\\`]+$/i
