import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { DataReading } from '@flotilla/fleet/sandbox'

/** Trailer after the archive: whether the agent was frozen until the end of the reading. */
export const heldTrailer = 'x-flotilla-held'
/** Trailer after an archive that could not be read to its end: the reason, percent-encoded. */
export const unreadTrailer = 'x-flotilla-unread'
const reasonMaxChars = 1000

/**
 * Responds with the data of an agent. Resolves once the agent is no longer frozen, however the caller ends: a killed
 * caller may disconnect before the first byte, and then the response emits no close event.
 */
export async function serveReading(
  data: DataReading,
  answer: ServerResponse,
  unread: (error: Error) => void,
): Promise<void> {
  const tar = Readable.from(data.tar, { objectMode: false })
  try {
    if (answer.destroyed) return
    answer.writeHead(200, {
      'content-type': 'application/x-tar',
      trailer: `${heldTrailer}, ${unreadTrailer}`,
    })
    await new Promise<void>((resolve) => {
      answer.once('close', resolve)
      tar.once('error', (error) => {
        unread(error)
        // The response ends in order, so that the caller can tell one unread agent from a mesh that is gone.
        answer.addTrailers({ [unreadTrailer]: encodeURIComponent(error.message.slice(0, reasonMaxChars)) })
        answer.end()
      })
      tar.once('end', () => {
        answer.addTrailers({ [heldTrailer]: String(data.held()) })
        answer.end()
      })
      tar.pipe(answer, { end: false })
    })
  } finally {
    tar.destroy()
    await data.leave()
  }
}
