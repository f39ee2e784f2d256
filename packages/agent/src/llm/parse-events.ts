/** Longest event that is waited for; a provider that sends more in one piece is broken. */
const eventMaxChars = 8 * 1024 * 1024

/**
 * Server-sent events from text in pieces of any size. Returns a function that takes a piece and answers with
 * the data of the events that it completed. Comments and other fields are passed over. Throws a RangeError
 * when one event does not end.
 */
export function createEventParser(): (piece: string) => readonly string[] {
  let rest = ''
  let data: string[] = []
  return (piece) => {
    rest += piece
    const events: string[] = []
    for (;;) {
      const line = takeLine(rest)
      if (line === null) break
      rest = rest.slice(line.length)
      const text = line.replace(/\r?\n$|\r$/, '')
      if (text === '') {
        if (data.length > 0) events.push(data.join('\n'))
        data = []
      } else if (text.startsWith('data:')) {
        data.push(text.slice(text[5] === ' ' ? 6 : 5))
      }
    }
    if (rest.length > eventMaxChars) throw new RangeError('an event of the stream does not end')
    return events
  }
}

/** A line with its end. A carriage return at the very end may be half of a pair, so it is waited for. */
function takeLine(text: string): string | null {
  const end = text.search(/[\r\n]/)
  if (end < 0) return null
  if (text[end] === '\n') return text.slice(0, end + 1)
  if (end + 1 === text.length) return null
  return text.slice(0, text[end + 1] === '\n' ? end + 2 : end + 1)
}
