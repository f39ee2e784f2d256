const starts = ['<|channel|>', '<|start|>']
const mark = /<\|(start|channel|message|constrain|end|return|call)\|>/g
const longestMark = '<|constrain|>'.length
/**
 * The bound in characters on a message head, which names role, channel and recipient; longer text counts as words.
 */
const headMaxChars = 500

/** Whether a text begins with the marks of the Harmony format, which gpt-oss writes. Pure. */
export function mayBeHarmony(text: string): 'yes' | 'maybe' | 'no' {
  if (starts.some((start) => text.startsWith(start))) return 'yes'
  return starts.some((start) => start.startsWith(text)) ? 'maybe' : 'no'
}

/**
 * Separates Harmony messages that a server left in the words: channel `analysis` is thinking, all others are words. A
 * tool call stays text with its recipient before it and is never executed, because the text may be a quotation.
 * Create one reader per answer.
 */
export function createHarmonyChannels() {
  let state: 'head' | 'body' = 'head'
  let head = ''
  let isThought = false
  let held = ''
  let hasWords = false
  let hasMessage = false

  function body(text: string, out: { text: string; thought: string }): void {
    if (text === '') return
    if (isThought) out.thought += text
    else {
      out.text += hasMessage && hasWords ? `\n\n${text}` : text
      hasMessage = false
      hasWords = true
    }
  }

  function pass(text: string, out: { text: string; thought: string }): void {
    if (state === 'body') return body(text, out)
    head += text
    if (head.length <= headMaxChars) return
    state = 'body'
    isThought = false
    body(head, out)
  }

  function turn(name: string, out: { text: string; thought: string }): void {
    if (name === 'message') {
      const recipient = /\bto=[^\s<]+/.exec(head)?.[0]
      isThought = recipient === undefined && /\banalysis\b/.test(head)
      hasMessage = true
      state = 'body'
      if (recipient !== undefined) body(`${recipient} `, out)
    } else if (name === 'channel' || name === 'constrain') {
      if (state === 'body') head = ''
      state = 'head'
      head += ' '
    } else {
      head = ''
      state = name === 'start' ? 'head' : 'body'
      isThought = false
    }
  }

  return {
    take(piece: string): { readonly text: string; readonly thought: string } {
      const out = { text: '', thought: '' }
      const whole = held + piece
      let from = 0
      mark.lastIndex = 0
      for (let found = mark.exec(whole); found; found = mark.exec(whole)) {
        pass(whole.slice(from, found.index), out)
        turn(found[1] ?? '', out)
        from = found.index + found[0].length
      }
      const open = whole.lastIndexOf('<')
      const isOpen = open >= from && whole.length - open < longestMark
      const end = isOpen ? open : whole.length
      pass(whole.slice(from, end), out)
      held = whole.slice(end)
      return out
    },
    rest(): { readonly text: string; readonly thought: string } {
      const out = { text: '', thought: '' }
      if (state === 'body') body(held, out)
      return out
    },
  }
}
