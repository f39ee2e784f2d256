import type { ProviderReply } from '../llm-provider.ts'

/** Reads an answer as text, up to `maxBytes`. Rejects if the connection breaks. */
export function readReplyText(reply: ProviderReply, maxBytes: number): Promise<string> {
  return readUpTo(reply, maxBytes, (error) => {
    throw error
  })
}

/** Reads a refusal, up to `maxBytes`. If the connection breaks, the part that was read counts: the status decides. */
export function readRefusalText(reply: ProviderReply, maxBytes: number): Promise<string> {
  return readUpTo(reply, maxBytes, () => {})
}

async function readUpTo(
  reply: ProviderReply,
  maxBytes: number,
  onBreak: (error: unknown) => void,
): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of reply.body) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= maxBytes) break
    }
  } catch (error) {
    onBreak(error)
  } finally {
    reply.discard()
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxBytes)
}
