import { createHarmonyChannels, mayBeHarmony } from './harmony-channels.ts'
import {
  closingAt,
  closingOf,
  mayBegin,
  mayHaveMark,
  openEndChars,
  openingAt,
  opensLine,
  thinkingMark,
  withoutEnds,
  wordsBegin,
} from './template-marks.ts'

/** The words and the thinking in one piece of a text. */
export interface TaggedText {
  readonly text: string
  readonly thought: string
  /** True if all text that was returned before this piece turned out to be thinking. */
  readonly retracts: boolean
}

/** A mark within backticks or directly after one of these quotation marks is an example. */
const quotes: ReadonlySet<string> = new Set(['"', "'", '“', '‘', '«'])

/** How many characters are held for a receiver that cannot retract: they may be thinking without an opening tag. */
export const unopenedHeldChars = 160

/**
 * Removes the marks of a model's chat template that its server left in the words: thinking between tags,
 * the channels of Harmony, the ends of a turn.
 *
 * - An opening tag counts before the first word; after a first thinking block, every further pair of tags counts.
 * - A closing tag without an opening one ends thinking whose opening tag was in the prompt: all words before it are
 *   thinking. A tag in backticks or after a quotation mark, or after an opening tag in the words, is an example
 *   and stays.
 * - End marks of a turn count only after the last word.
 *
 * Create one per answer. How the text is split into pieces changes only what has to be retracted.
 */
export function createThinkingTags(firstHeldChars = 0) {
  let phase: 'start' | 'thinking' | 'words' = 'start'
  let channels: ReturnType<typeof createHarmonyChannels> | null = null
  let held = ''
  let closing = ''
  /** A thinking tag opened after the first words, with its content so far; it counts as words unless it is closed. */
  let later: { readonly tag: string; readonly pieces: string[] } | null = null
  let hasThought = false
  /** Set after thinking: the blanks before the first word are dropped. */
  let isBehindThinking = false
  const written = { chars: 0, ticks: 0, last: '', hasOpening: false, hasLine: false }

  interface Out {
    text: string
    thought: string
    retracts: boolean
  }

  function emit(text: string, out: Out): void {
    const visible = isBehindThinking ? text.trimStart() : text
    if (visible === '') return
    isBehindThinking = false
    out.text += visible
    written.chars += visible.length
    written.ticks += ticksIn(visible)
    written.last = visible.at(-1) ?? ''
    written.hasLine ||= opensLine(visible)
  }

  function think(buffer: string, out: Out): string | null {
    const at = closingAt(buffer, closing)
    const thought =
      at === -1 ? buffer.slice(0, buffer.length - heldChars(buffer, closing)) : buffer.slice(0, at)
    if (later === null) out.thought += thought
    else later.pieces.push(thought)
    if (at === -1) {
      held = buffer.slice(thought.length)
      return null
    }
    if (later !== null) out.thought += later.pieces.join('')
    later = null
    phase = 'words'
    hasThought = true
    isBehindThinking = true
    return buffer.slice(at + closing.length)
  }

  function speak(buffer: string, out: Out): string | null {
    let text = isBehindThinking ? buffer.replace(wordsBegin, '') : buffer
    thinkingMark.lastIndex = 0
    const first = mayHaveMark(text) ? thinkingMark.exec(text) : null
    // Backticks are counted from mark to mark, because one text may hold thousands of marks.
    let ticks = written.ticks
    let countedTo = 0
    for (let found = first; found; found = thinkingMark.exec(text)) {
      const [mark] = found
      const before = text.slice(0, found.index)
      const behind = text.slice(found.index + mark.length)
      ticks += ticksIn(text.slice(countedTo, found.index))
      countedTo = found.index
      const isExample = ticks % 2 === 1 || quotes.has(text[found.index - 1] ?? written.last)
      if (hasThought && found.groups?.['opening'] !== undefined && !isExample) {
        emit(before, out)
        later = { tag: mark, pieces: [] }
        closing = closingOf(mark)
        phase = 'thinking'
        return behind
      }
      if (!hasThought && !written.hasOpening && found.groups?.['closing'] !== undefined && !isExample) {
        out.retracts = written.chars > out.text.length
        out.thought += out.text + before
        out.text = ''
        hasThought = true
        isBehindThinking = true
        text = behind.replace(wordsBegin, '')
        thinkingMark.lastIndex = 0
        ticks = written.ticks
        countedTo = 0
        continue
      }
      written.hasOpening ||= found.groups?.['opening'] !== undefined
    }
    const isShort = !hasThought && written.chars === 0 && text.length < firstHeldChars
    const open = isShort ? text.length : openEndChars(text)
    emit(text.slice(0, text.length - open), out)
    held = text.slice(text.length - open)
    return null
  }

  function begin(buffer: string): string | null {
    const bare = buffer.trimStart()
    const word = bare.replace(wordsBegin, '')
    if (mayBeHarmony(word) === 'yes') {
      channels = createHarmonyChannels()
      return word
    }
    const tag = openingAt(word)
    if (word === '' || tag === 'maybe' || mayBeHarmony(word) === 'maybe' || mayBegin(bare)) {
      held = buffer
      return null
    }
    phase = tag === null ? 'words' : 'thinking'
    closing = tag?.closing ?? ''
    if (tag !== null) return word.slice(tag.tag.length)
    return word === bare ? buffer : word
  }

  return {
    take(piece: string): TaggedText {
      const out: Out = { text: '', thought: '', retracts: false }
      let buffer: string | null = held + piece
      held = ''
      while (buffer !== null && buffer !== '' && channels === null) {
        if (phase === 'start') buffer = begin(buffer)
        else buffer = phase === 'thinking' ? think(buffer, out) : speak(buffer, out)
      }
      if (channels === null || buffer === null) return out
      return { ...channels.take(buffer), retracts: false }
    },
    /** Returns the text that was held back, at the end of the answer. */
    rest(): TaggedText {
      if (channels !== null) return { ...channels.rest(), retracts: false }
      const last = held
      held = ''
      if (phase === 'thinking' && later === null) return { text: '', thought: last, retracts: false }
      const unclosed = later === null ? last : later.tag + later.pieces.join('') + last
      const text = withoutEnds(unclosed, { closesLines: written.hasLine })
      return { text: isBehindThinking ? text.trimStart() : text, thought: '', retracts: false }
    },
  }
}

/** Returns how many characters at the end of the text may be the beginning of the tag. */
function heldChars(text: string, tag: string): number {
  for (let chars = Math.min(tag.length - 1, text.length); chars > 0; chars--) {
    if (tag.toLowerCase().startsWith(text.slice(text.length - chars).toLowerCase())) return chars
  }
  return 0
}

function ticksIn(text: string): number {
  let ticks = 0
  for (let at = text.indexOf('`'); at !== -1; at = text.indexOf('`', at + 1)) ticks++
  return ticks
}
