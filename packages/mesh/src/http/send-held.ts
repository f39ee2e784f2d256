import type { FastifyReply } from 'fastify'
import { alreadySent } from './bind-endpoint.ts'

/**
 * Answers with bytes that somebody else made, held until the answer is closed. Whatever they are, no browser is to make a page
 * of them: opened by its address it is saved, and `type` is one that runs nothing.
 */
export async function sendHeld(
  reply: FastifyReply,
  held: {
    /** Letters that may stand in a header. */
    readonly name: string
    readonly type: string
    readonly content: Uint8Array
    giveBack(): void
  },
): Promise<typeof alreadySent> {
  const { name, type, content } = held
  if (reply.raw.destroyed) held.giveBack()
  else reply.raw.once('close', () => held.giveBack())
  void reply.header('content-disposition', `attachment; filename="${name}"`).type(type)
  await reply.send(Buffer.from(content.buffer, content.byteOffset, content.byteLength))
  return alreadySent
}
