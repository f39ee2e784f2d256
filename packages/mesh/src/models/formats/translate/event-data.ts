import { Problem } from '@flotilla/protocol/problem'
import { createServerSentEventParser } from '@flotilla/protocol/server-sent-events'

/** One event of a model is a few hundred bytes; one with a picture in it may be megabytes. */
const eventMaxChars = 8 * 1024 * 1024

/**
 * What the events of a stream say, one text for each, however the bytes are cut. Throws the Problem `upstream-failed`
 * for an event beyond any reason.
 */
export async function* eventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const parser = createServerSentEventParser(eventMaxChars)
  for await (const chunk of bytes) {
    for (const { data } of pushed(decoder.decode(chunk, { stream: true }))) yield data
  }
  // A server that hangs up right behind its last line has said it all the same.
  for (const { data } of pushed(`${decoder.decode()}\n\n`)) yield data

  function pushed(text: string) {
    try {
      return parser.push(text)
    } catch (error) {
      throw new Problem('upstream-failed', { detail: 'an event of the stream is too large', cause: error })
    }
  }
}
