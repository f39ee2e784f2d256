import type { Clock } from '@flotilla/protocol/clock'
import { webhookPublicApi as api, webhookPublicEndpoints as endpoints } from '@flotilla/protocol/webhook-api'
import { createBodyReader } from '@flotilla/identity/http'
import type { PublicSurface } from '@flotilla/identity/http'
import { bodyTooLarge } from './delivery-head.ts'
import type { ReceiveHook } from './receive-hook.ts'
import { deliveryLimits } from './delivery-limits.ts'

const bounds = {
  maxBytes: deliveryLimits.bodyMaxBytes,
  /** The time limit for a call, in milliseconds, which is as long as common senders wait for a response. */
  maxMs: 10_000,
  /** The maximum size of all webhook deliveries that are buffered at once, in bytes. */
  heldMaxBytes: 64 * 1024 * 1024,
  /** The maximum size of buffered deliveries to one webhook, in bytes. */
  heldPerPlaceMaxBytes: 16 * 1024 * 1024,
} as const

/** The public route of webhooks. It needs no login: each delivery carries a signature over its body. */
export function webhookPublicRoutes(
  { bind, scope }: PublicSurface,
  { receive, clock }: { readonly receive: ReceiveHook; readonly clock: Clock },
): void {
  const bodies = createBodyReader(bounds, clock)
  // The signature covers the raw bytes, so no parser may consume them.
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, done) => done(null))
  bind(endpoints.webhookReceive, api.webhookReceive, async ({ params, raw, reply }) => {
    const delivery = receive(params.hook_id, raw.headers)
    const body = await bodies.read(raw.raw, params.hook_id, bodyTooLarge).catch((error: unknown) => {
      delivery.refused(error, 0)
      throw error
    })
    const receipt = await delivery.receive(body)
    void reply.code(202)
    return receipt
  })
}
