/** One server-sent event, as far as our doors use the format. */
export interface ServerSentEvent {
  readonly event: string
  readonly data: string
}

/** Longest event we are willing to hold, in characters; a door that sends more is broken. */
const eventMaxChars = 8 * 1024 * 1024

/**
 * Cuts a stream of text into events, however the network cut it. Comments (`: keep-alive`) give no event.
 * Throws when one event passes the bound.
 */
export function createServerSentEventParser(): { push(chunk: string): readonly ServerSentEvent[] } {
  let rest = ''
  let event = ''
  let data: string[] = []
  let held = 0

  function takeLine(line: string, into: ServerSentEvent[]): void {
    if (line === '') {
      if (data.length > 0) into.push({ event: event === '' ? 'message' : event, data: data.join('\n') })
      event = ''
      data = []
      held = 0
      return
    }
    if (line.startsWith(':')) return
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') data.push(value)
    if (field === 'event') event = value
    held += line.length
  }

  return {
    push(chunk) {
      rest += chunk
      if (held + rest.length > eventMaxChars) throw new Error('a server-sent event passes its bound')
      const done: ServerSentEvent[] = []
      for (;;) {
        const end = /\r\n|\n|\r(?!$)/.exec(rest)
        // A lone CR at the very end may be half of CRLF: it waits for the next chunk.
        if (end === null) return done
        takeLine(rest.slice(0, end.index), done)
        rest = rest.slice(end.index + end[0].length)
      }
    },
  }
}
