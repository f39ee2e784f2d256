import type { FastifyRequest } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'

/** The maximum length of the key in the idempotency header of a call, in characters. */
const keyMaxChars = 200

/** The idempotency key of a person's call; empty if none was sent. Problem `bad-request`. */
export function idempotencyKeyIn(raw: FastifyRequest): { readonly idempotencyKey?: string } {
  const key = raw.headers[headers.idempotencyKey]
  if (key === undefined) return {}
  if (typeof key === 'string' && key !== '' && key.length <= keyMaxChars) return { idempotencyKey: key }
  throw new Problem('bad-request', {
    detail: `${headers.idempotencyKey} must have 1 to ${keyMaxChars} characters; leave the header out if you never repeat the call`,
  })
}
