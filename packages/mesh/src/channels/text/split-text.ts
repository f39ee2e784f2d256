import { setImmediate } from 'node:timers/promises'
import type { ChannelName } from '@flotilla/protocol/people'
import { chooseCut } from './choose-cut.ts'
import { cleanText, cutMark, wholeUpTo } from './clean-text.ts'
import { createReadMarkdown, readPlain } from './read-markdown.ts'
import { discordMarkdown, plainMarkdown } from './spellings/markdown.ts'
import type { Spelled, Spelling } from './spellings/spelling.ts'
import { slackMrkdwn, whatsappMarks } from './spellings/starred.ts'
import { telegramHtml } from './spellings/telegram-html.ts'
import { joinRuns, plainStyle, sliceRuns } from './text-run.ts'
import type { RunText, TextRun } from './text-run.ts'
import type { WholePart } from './whole-part.ts'

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
const leastGuessChars = 64

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

export type SplitChannelText = (split: TextToSplit) => Promise<SplitText>

/** Work of one turn of the event loop, milliseconds: whoever else waits comes next. */
const turnMs = 10

/** As `createSplitText`, with the event loop let go in between: hostile text takes long, and holds up nobody. */
export function createPacedSplit(turn: () => Promise<void> = setImmediate): SplitChannelText {
  const steps = createSplitSteps()
  return async (split) => {
    const work = steps(split)
    for (;;) {
      const begun = performance.now()
      let step = work.next()
      while (step.done !== true && performance.now() - begun < turnMs) step = work.next()
      if (step.done === true) return step.value
      await turn()
    }
  }
}

/** All at once, for what is short. */
export function createSplitText(): (split: TextToSplit) => SplitText {
  const steps = createSplitSteps()
  return (split) => {
    const work = steps(split)
    for (;;) {
      const step = work.next()
      if (step.done === true) return step.value
    }
  }
}

/**
 * What an agent says, as messages of a platform. No character is cut in two, no mark is left open, code goes on as code;
 * nobody is called, no HTML passes, and links lead where they say. Its time is in proportion to the text's length, which is
 * bounded; it is done in steps, none of which reads or spells more than the text once. Pure.
 */
export function createSplitSteps(): (split: TextToSplit) => Generator<void, SplitText> {
  const readMarkdown = createReadMarkdown()
  return function* ({ channel, text, format, lead }) {
    const spelling = spellings[channel]
    const clean = cleanText(text)
    const source = clean.text
    if (format === 'plain')
      return {
        pieces: yield* split(withCutMark(readPlain(source), clean), spelling, leadOf(lead)),
        wasCut: clean.wasCut,
      }
    const read = yield* readMarkdown(source, spelling.keepsLinks)
    const whole = withCutMark(read, clean)
    if (channel === 'webhook' && !clean.wasCut && !read.refusedLink && isPlainMarkdown(source)) {
      const closed = [source.trim(), read.openFence].filter((part) => part !== '').join('\n')
      const asItIs = [leadOf(lead), closed].filter((part) => part !== '').join('\n\n')
      if (asItIs.length <= spelling.charsMax)
        return { pieces: whole.text.trim() === '' ? [] : [asItIs], wasCut: clean.wasCut }
    }
    return { pieces: yield* split(whole, spelling, leadOf(lead)), wasCut: clean.wasCut }
  }
}

/** Behind all that is read, so that no block of code which was cut holds it. */
function withCutMark(whole: RunText, { wasCut }: { readonly wasCut: boolean }): RunText {
  return wasCut ? joinRuns([...whole.runs, { text: `\n\n${cutMark}`, style: plainStyle }]) : whole
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

function* split(whole: RunText, spelling: Spelling, lead: string): Generator<void, string[]> {
  const rules: PieceRules = { spelling, lead, end: trimmedEnd(whole, 0, whole.text.length) }
  const pieces: string[] = []
  let from = begin(whole, 0)
  let guess = spelling.charsMax
  while (from < rules.end) {
    const { text, next } = yield* takePiece(whole, { from, guess }, rules)
    pieces.push(text)
    // What stands near one another takes about the same room.
    guess = Math.max(leastGuessChars, next - from)
    from = begin(whole, next)
  }
  return pieces
}

function* takePiece(
  whole: RunText,
  { from, guess }: { readonly from: number; readonly guess: number },
  { spelling, lead, end }: PieceRules,
): Generator<void, { readonly text: string; readonly next: number }> {
  const spellUpTo = (to: number): Spelled => spelling.spell(withLead(sliceRuns(whole, from, to), lead))
  const fits = (to: number) => spellUpTo(to).size <= spelling.charsMax
  const fitsAlone = (part: WholePart) =>
    part.to - part.from <= spelling.charsMax &&
    spelling.spell(withLead(sliceRuns(whole, part.from, part.to), lead)).size <= spelling.charsMax
  const least = from + (isHighSurrogate(whole.text, from) ? 2 : 1)
  const bounds = { least, most: Math.min(end, from + spelling.charsMax), guess: from + guess }
  let to = yield* longestFitting(fits, bounds)
  if (to === end) return { text: spellUpTo(end).text, next: end }
  // Blanks at the end of a message take no room in it.
  while (/\s/.test(whole.text[to] ?? '')) to += 1
  for (;;) {
    yield
    const next = to <= least ? least : Math.max(least, chooseCut(whole, { from, to }, fitsAlone))
    const { text, size } = spellUpTo(trimmedEnd(whole, from, next))
    if (size <= spelling.charsMax || next === least) return { text, next }
    // Rare: less text takes more room, by a mark that is needed only now.
    to = next - 1
  }
}

/** The last place up to which it fits, if more takes more room; tried from the guess on, so that far more is not spelled. */
function* longestFitting(
  fits: (to: number) => boolean,
  { least, most, guess }: { readonly least: number; readonly most: number; readonly guess: number },
): Generator<void, number> {
  if (most <= least) return least
  let low = least
  let high = Math.max(least + 1, Math.min(most, guess))
  while (fits(high)) {
    if (high === most) return most
    low = high
    high = Math.min(most, high + (high - least + 1))
    yield
  }
  while (high - low > 1) {
    yield
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
