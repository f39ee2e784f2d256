import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { DataReading } from '../sandbox/index.ts'

/** Told behind the archive: whether the agent was held until all was read. */
export const heldTrailer = 'x-flotilla-held'

/**
 * Answers with the data of an agent. Resolves once nobody is held any more, however the asker ends: one that was killed may
 * be gone before the first byte, and then its answer closes no more.
 */
export async function serveReading(
  data: DataReading,
  answer: ServerResponse,
  unread: (error: Error) => void,
): Promise<void> {
  const tar = Readable.from(data.tar, { objectMode: false })
  try {
    if (answer.destroyed) return
    answer.writeHead(200, { 'content-type': 'application/x-tar', trailer: heldTrailer })
    await new Promise<void>((resolve) => {
      answer.once('close', resolve)
      tar.once('error', (error) => {
        unread(error)
        answer.destroy()
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
