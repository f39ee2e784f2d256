import type { IncomingMessage } from 'node:http'

/** Returns the body of a request; null if the client disconnected before its end. */
export async function wholeBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer)
  } catch {
    return null
  }
  return Buffer.concat(chunks)
}
