import { StringDecoder } from 'node:string_decoder'

/** Takes the bytes of an event stream as they come, however they are cut. */
export interface ServerSentEvents {
  /** The data of every event that these bytes complete; comments and other fields are passed over. Throws past the bound. */
  push(bytes: Uint8Array): string[]
}

/**
 * The part of the event stream format (WHATWG HTML 9.2) that an agent uses: `data:` lines, comments as keep-alive,
 * a blank line as the end. One event may be `eventMaxChars` long. Each byte is looked at once, so that a sender of
 * single bytes costs no more than one of blocks.
 */
export function createServerSentEvents(eventMaxChars: number): ServerSentEvents {
  const decoder = new StringDecoder('utf8')
  let line: string[] = []
  let lineSize = 0
  let data: string[] = []
  let dataSize = 0

  function endLine(): string | null {
    const joined = line.join('')
    line = []
    lineSize = 0
    const text = joined.endsWith('\r') ? joined.slice(0, -1) : joined
    if (text === '') return endEvent()
    if (text.startsWith('data:')) {
      data.push(text.startsWith('data: ') ? text.slice(6) : text.slice(5))
      dataSize += text.length
    }
    return null
  }

  function endEvent(): string | null {
    const event = data.length > 0 ? data.join('\n') : null
    data = []
    dataSize = 0
    return event
  }

  function take(part: string): void {
    lineSize += part.length
    if (dataSize + lineSize > eventMaxChars) {
      throw new Error(`an event is longer than ${eventMaxChars} characters`)
    }
    if (part !== '') line.push(part)
  }

  return {
    push: (bytes) => {
      const text = decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
      const events: string[] = []
      let from = 0
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
        take(text.slice(from, end))
        from = end + 1
        const event = endLine()
        if (event !== null) events.push(event)
      }
      take(text.slice(from))
      return events
    },
  }
}
