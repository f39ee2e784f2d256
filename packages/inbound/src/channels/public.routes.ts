import type { Clock } from '@flotilla/protocol/clock'
import { channelBodyMaxBytes, channelPublicEndpoints as endpoints } from '@flotilla/protocol/channels-api'
import { Problem } from '@flotilla/protocol/problem'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { alreadySent, createBodyReader } from '@flotilla/identity/http'
import type { PublicSurface } from '@flotilla/identity/http'
import type { CallbackRequest } from './adapter.ts'
import type { ChannelLife } from './channel-life.ts'

const bounds = {
  maxBytes: channelBodyMaxBytes,
  /** How long platforms wait for an answer, in milliseconds. */
  maxMs: 10_000,
  /** The maximum size of all deliveries of chat platforms that are buffered at once, in bytes. */
  heldMaxBytes: 32 * 1024 * 1024,
  /** The maximum size of buffered deliveries to one address, in bytes. */
  heldPerPlaceMaxBytes: 16 * 1024 * 1024,
} as const

/**
 * The webhook routes of chat platforms. They need no login: each request carries the channel's signature over its
 * body.
 */
export function channelPublicRoutes(
  { bind, scope }: PublicSurface,
  { lifeOf, clock }: { readonly lifeOf: (name: string) => ChannelLife | null; readonly clock: Clock },
): void {
  const bodies = createBodyReader(bounds, clock)
  // The signature covers the raw bytes, so no parser may consume them.
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, done) => done(null))

  /** Returns a channel's handler. Throws the same Problem `not-found` for a channel that is off or unknown. */
  function required(name: string) {
    const receive = lifeOf(name)?.receiveRequest ?? null
    if (receive === null) throw new Problem('not-found', { detail: 'no channel receives requests here' })
    return receive
  }

  async function pass(
    {
      name,
      raw,
      reply,
    }: { readonly name: string; readonly raw: FastifyRequest; readonly reply: FastifyReply },
    request: Pick<CallbackRequest, 'method' | 'body'>,
  ): Promise<typeof alreadySent> {
    const answer = await required(name)({ ...request, query: texts(raw.query), headers: texts(raw.headers) })
    await reply.code(answer.status).type(answer.contentType).send(answer.body)
    return alreadySent
  }

  bind(endpoints.channelVerify, {}, ({ params, raw, reply }) =>
    pass({ name: params.name, raw, reply }, { method: 'GET', body: new Uint8Array() }),
  )
  bind(endpoints.channelReceive, {}, async ({ params, raw, reply }) => {
    required(params.name)
    const body = await bodies.read(
      raw.raw,
      params.name,
      () => new Problem('body-too-large', { detail: `a delivery has at most ${channelBodyMaxBytes} bytes` }),
    )
    return pass({ name: params.name, raw, reply }, { method: 'POST', body })
  })
}

/** Returns the values as text; of a repeated name, the first value. */
function texts(record: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(typeof record === 'object' && record !== null ? record : {})
  return Object.fromEntries(
    entries.flatMap(([name, value]: [string, unknown]) => {
      const first: unknown = Array.isArray(value) ? value[0] : value
      return typeof first === 'string' ? [[name, first] as const] : []
    }),
  )
}
