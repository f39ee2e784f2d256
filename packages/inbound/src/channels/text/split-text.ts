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

/**
 * The maximum length of a message on each platform, in UTF-16 code units. Telegram counts after
 * parsing the markup, the other platforms before.
 */
export const channelCharsMax: Readonly<Record<ChannelName, number>> = {
  telegram: telegramHtml.charsMax,
  discord: discordMarkdown.charsMax,
  slack: slackMrkdwn.charsMax,
  whatsapp: whatsappMarks.charsMax,
  webhook: plainMarkdown.charsMax,
}

/** The lowest first guess for a message's length, in UTF-16 code units. */
const leastGuessChars = 64

/** The maximum length of `lead`, in UTF-16 code units. */
const leadCharsMax = 80

export interface TextToSplit {
  readonly channel: ChannelName
  /** Text of an agent or a person; untrusted. */
  readonly text: string
  /** `markdown` for agents; `plain` for text of the mesh and of people. */
  readonly format: 'markdown' | 'plain'
  /**
   * The prefix of every message, such as `[agent]`, so that no later part can impersonate another
   * agent. May be empty.
   */
  readonly lead: string
}

export interface SplitText {
  /** The messages in the platform's markup, each within the platform's limit; empty if nothing would be visible. */
  readonly pieces: readonly string[]
  /** True if the text exceeded the limit; the last message then says so. */
  readonly wasCut: boolean
}

export type SplitChannelText = (split: TextToSplit) => Promise<SplitText>

/** The longest work without yielding to the event loop, in milliseconds. */
const turnMs = 10

/** Splits text as `createSplitText` does, but yields to the event loop, because hostile text can take long. */
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

/** Splits short text in one go, without yielding to the event loop. */
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
 * Converts the text of an agent to messages of a platform. No character is cut, no markup stays open, and code blocks
 * continue. The result contains no mentions and no HTML, and links lead where their label says. Its time is linear in
 * the bounded length of the text. No step parses or spells the text more than once. Pure.
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
      const closed = [withoutBlankEnds(source), read.openFence].filter((part) => part !== '').join('\n')
      const asItIs = [leadOf(lead), closed].filter((part) => part !== '').join('\n\n')
      if (asItIs.length <= spelling.charsMax)
        return { pieces: whole.text.trim() === '' ? [] : [asItIs], wasCut: clean.wasCut }
    }
    return { pieces: yield* split(whole, spelling, leadOf(lead)), wasCut: clean.wasCut }
  }
}

/** Adds the mark of a cut text after parsing, so that the mark does not become part of a cut code block. */
function withCutMark(whole: RunText, { wasCut }: { readonly wasCut: boolean }): RunText {
  return wasCut ? joinRuns([...whole.runs, { text: `\n\n${cutMark}`, style: plainStyle }]) : whole
}

/** Removes blank lines at both ends; the first line keeps its indentation, which may make the line code. */
function withoutBlankEnds(source: string): string {
  return source.trimEnd().replace(/^(?:[^\S\n]*\n)+/, '')
}

/** True if no client could interpret the text as HTML. */
function isPlainMarkdown(source: string): boolean {
  return !/<[a-z!/?]/i.test(source)
}

function leadOf(lead: string): string {
  return wholeUpTo(cleanText(lead).text.replaceAll('\n', ' '), leadCharsMax)
}

interface PieceRules {
  readonly spelling: Spelling
  readonly lead: string
  /** The end of the visible text. */
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
    // The next guess: neighboring text needs about as much space for its markup.
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
  // Trailing whitespace is skipped, because it takes no space in a message.
  while (/\s/.test(whole.text[to] ?? '')) to += 1
  for (;;) {
    yield
    const next = to <= least ? least : Math.max(least, chooseCut(whole, { from, to }, fitsAlone))
    const { text, size } = spellUpTo(trimmedEnd(whole, from, next))
    if (size <= spelling.charsMax || next === least) return { text, next }
    // In rare cases the shorter text needs more space, because the cut adds a mark.
    to = next - 1
  }
}

/**
 * Returns the largest end that fits, assuming that longer text needs more space. Starts from the
 * guess, to avoid converting much more text than fits.
 */
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

/** Returns where the next message begins, after empty lines. */
function begin({ text }: RunText, at: number): number {
  let from = at
  while (text[from] === '\n') from += 1
  // Indentation belongs to the line.
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
