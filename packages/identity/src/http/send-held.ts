import type { FastifyReply } from 'fastify'
import { alreadySent } from './bind-endpoint.ts'

/**
 * Sends untrusted bytes that count as held until the response is closed. No browser may render them as a
 * page: they are sent as a download, and `type` is a type that runs nothing.
 */
export async function sendHeld(
  reply: FastifyReply,
  held: {
    /** Characters that are valid in a header. */
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
