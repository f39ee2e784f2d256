import type { IncomingMessage } from 'node:http'

/** What a request bears; null where its client has gone before the end, which no test server answers for. */
export async function wholeBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer)
  } catch {
    return null
  }
  return Buffer.concat(chunks)
}
