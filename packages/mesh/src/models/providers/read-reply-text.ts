import type { ProviderReply } from './llm-provider.ts'

/** Reads an answer as text, up to `maxBytes`. */
export async function readReplyText(reply: ProviderReply, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of reply.body) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= maxBytes) break
    }
  } finally {
    reply.discard()
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxBytes)
}
