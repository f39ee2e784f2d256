/** What a piece of a text says aloud, and what it thinks. */
export interface TaggedText {
  readonly text: string
  readonly thought: string
}

const opening = ['<think>', '<thinking>', '<thought>', '[THINK]']
const closingOf: Readonly<Record<string, string>> = {
  '<think>': '</think>',
  '<thinking>': '</thinking>',
  '<thought>': '</thought>',
  '[THINK]': '[/THINK]',
}

/**
 * Takes thinking out of the words of a model whose server leaves it there: a tag counts only before the first word. Made
 * for each answer; how the text is cut changes nothing.
 */
export function createThinkingTags() {
  /** Before the first word; null once it is known what the text begins with. */
  let start: string | null = ''
  /** The tag that ends the thinking, while it goes on. */
  let closing: string | null = null
  let held = ''
  /** Blanks between the thinking and the first word belong to neither. */
  let isBehindThinking = false

  function think(piece: string, tag: string): TaggedText {
    const whole = held + piece
    const at = whole.indexOf(tag)
    if (at === -1) {
      // The end may hold the beginning of the tag.
      const kept = heldChars(whole, tag)
      held = whole.slice(whole.length - kept)
      return { text: '', thought: whole.slice(0, whole.length - kept) }
    }
    closing = null
    held = ''
    isBehindThinking = true
    return { text: say(whole.slice(at + tag.length)), thought: whole.slice(0, at) }
  }

  function say(piece: string): string {
    const text = isBehindThinking ? piece.trimStart() : piece
    if (text !== '') isBehindThinking = false
    return text
  }

  return {
    take(piece: string): TaggedText {
      if (closing !== null) return think(piece, closing)
      if (start === null) return { text: say(piece), thought: '' }
      const whole = start + piece
      const word = whole.trimStart()
      const tag = opening.find((one) => word.startsWith(one))
      if (tag !== undefined) {
        start = null
        closing = closingOf[tag] ?? ''
        return think(word.slice(tag.length), closing)
      }
      if (opening.some((one) => one.startsWith(word))) {
        start = whole
        return { text: '', thought: '' }
      }
      start = null
      return { text: whole, thought: '' }
    },
    /** What was held back to see how it goes on. */
    rest(): TaggedText {
      const text = start ?? ''
      const thought = held
      start = null
      held = ''
      return { text, thought }
    },
  }
}

/** Characters at the end that the tag may begin with. */
function heldChars(text: string, tag: string): number {
  for (let chars = Math.min(tag.length - 1, text.length); chars > 0; chars--) {
    if (tag.startsWith(text.slice(text.length - chars))) return chars
  }
  return 0
}
