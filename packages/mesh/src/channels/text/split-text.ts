import type { ChannelName } from '@flotilla/protocol/people'
import { chooseCut } from './choose-cut.ts'
import { cleanText, cutMark, wholeUpTo } from './clean-text.ts'
import { createReadMarkdown, readPlain } from './read-markdown.ts'
import { discordMarkdown, plainMarkdown } from './spellings/markdown.ts'
import type { Spelled, Spelling } from './spellings/spelling.ts'
import { slackMrkdwn, whatsappMarks } from './spellings/starred.ts'
import { telegramHtml } from './spellings/telegram-html.ts'
import { plainStyle, sliceRuns } from './text-run.ts'
import type { RunText, TextRun } from './text-run.ts'

const spellings: Readonly<Record<ChannelName, Spelling>> = {
  telegram: telegramHtml,
  discord: discordMarkdown,
  slack: slackMrkdwn,
  whatsapp: whatsappMarks,
  webhook: plainMarkdown,
}

/** The longest message of each platform, UTF-16 code units: Telegram's counts once its marks are read, the others' as it is sent. */
export const channelCharsMax: Readonly<Record<ChannelName, number>> = {
  telegram: telegramHtml.charsMax,
  discord: discordMarkdown.charsMax,
  slack: slackMrkdwn.charsMax,
  whatsapp: whatsappMarks.charsMax,
  webhook: plainMarkdown.charsMax,
}

/** UTF-16 code units. */
const leadCharsMax = 80

export interface TextToSplit {
  readonly channel: ChannelName
  /** An agent's or anybody's: hostile. */
  readonly text: string
  /** `markdown` of an agent, or words of the mesh and of people that are no markup. */
  readonly format: 'markdown' | 'plain'
  /** Stands before every message, so that no later one can pass for somebody else's: `[agent]`. Empty for none. */
  readonly lead: string
}

export interface SplitText {
  /** In the platform's own spelling, each within its limit; none where nothing would be read. */
  readonly pieces: readonly string[]
  /** Whether the text was longer than is put into messages; the last piece says so. */
  readonly wasCut: boolean
}

export type SplitChannelText = (split: TextToSplit) => SplitText

/**
 * What an agent says, as messages of a platform. No character is cut in two, no mark is left open, code goes on as code;
 * nobody is called, no HTML passes, and links lead where they say. Its time is in proportion to the text's length, which is
 * bounded. Pure.
 */
export function createSplitText(): SplitChannelText {
  const readMarkdown = createReadMarkdown()
  return ({ channel, text, format, lead }) => {
    const spelling = spellings[channel]
    const clean = cleanText(text)
    const source = clean.wasCut ? `${clean.text}\n\n${cutMark}` : clean.text
    if (format === 'plain')
      return { pieces: split(readPlain(source), spelling, leadOf(lead)), wasCut: clean.wasCut }
    const whole = readMarkdown(source, spelling.keepsLinks)
    if (channel === 'webhook' && !whole.refusedLink && isPlainMarkdown(source)) {
      const asItIs = [leadOf(lead), source.trim()].filter((part) => part !== '').join('\n\n')
      if (asItIs.length <= spelling.charsMax)
        return { pieces: whole.text.trim() === '' ? [] : [asItIs], wasCut: clean.wasCut }
    }
    return { pieces: split(whole, spelling, leadOf(lead)), wasCut: clean.wasCut }
  }
}

/** Nothing that whoever shows it could take for HTML. */
function isPlainMarkdown(source: string): boolean {
  return !/<[a-z!/?]/i.test(source)
}

function leadOf(lead: string): string {
  return wholeUpTo(cleanText(lead).text.replaceAll('\n', ' '), leadCharsMax)
}

interface PieceRules {
  readonly spelling: Spelling
  readonly lead: string
  /** Where what is read ends. */
  readonly end: number
}

function split(whole: RunText, spelling: Spelling, lead: string): string[] {
  const rules: PieceRules = { spelling, lead, end: trimmedEnd(whole, 0, whole.text.length) }
  const pieces: string[] = []
  let from = begin(whole, 0)
  while (from < rules.end) {
    const { text, next } = takePiece(whole, from, rules)
    pieces.push(text)
    from = begin(whole, next)
  }
  return pieces
}

function takePiece(
  whole: RunText,
  from: number,
  { spelling, lead, end }: PieceRules,
): { readonly text: string; readonly next: number } {
  const spellUpTo = (to: number): Spelled => spelling.spell(withLead(sliceRuns(whole, from, to), lead))
  const fits = (to: number) => spellUpTo(to).size <= spelling.charsMax
  const least = from + (isHighSurrogate(whole.text, from) ? 2 : 1)
  let to = longestFitting(fits, least, Math.min(end, from + spelling.charsMax))
  if (to === end) return { text: spellUpTo(end).text, next: end }
  // Blanks at the end of a message take no room in it.
  while (/\s/.test(whole.text[to] ?? '')) to += 1
  for (;;) {
    const next = to <= least ? least : Math.max(least, chooseCut(whole, from, to))
    const { text, size } = spellUpTo(trimmedEnd(whole, from, next))
    if (size <= spelling.charsMax || next === least) return { text, next }
    // Rare: less text takes more room, by a mark that is needed only now.
    to = next - 1
  }
}

function longestFitting(fits: (to: number) => boolean, least: number, most: number): number {
  if (most <= least) return least
  if (fits(most)) return most
  let [low, high] = [least, most]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}

function withLead(slice: readonly TextRun[], lead: string): readonly TextRun[] {
  const first = slice[0]
  if (lead === '' || first === undefined) return slice
  const standsAlone = first.style.block !== null || first.style.quote
  return [{ text: lead + (standsAlone ? '\n' : ' '), style: plainStyle }, ...slice]
}

/** Where the next message begins: none begins with an empty line. */
function begin({ text }: RunText, at: number): number {
  let from = at
  while (text[from] === '\n') from += 1
  // What stands in front of a line's first word belongs to the line.
  if (from === at && at > 0 && text[at - 1] !== '\n') while (text[from] === ' ') from += 1
  return from
}

function trimmedEnd({ text }: RunText, from: number, to: number): number {
  let end = to
  while (end > from && /\s/.test(text[end - 1]!)) end -= 1
  return end
}

function isHighSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xd800 && unit <= 0xdbff
}
