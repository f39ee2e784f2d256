import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '@flotilla/protocol/clock'
import { limits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { webhookPublicApi as api, webhookPublicEndpoints as endpoints } from '@flotilla/protocol/webhook-api'
import type { WebhookReceipt } from '@flotilla/protocol/webhook-api'
import { createBinder } from '../../http/bind-endpoint.ts'
import { createBodyReader } from '../../http/read-bounded-body.ts'

const bounds = {
  maxBytes: limits.webhook.bodyMaxBytes,
  /** As long as common senders wait for an answer. */
  maxMs: 10_000,
  heldMaxBytes: 64 * 1024 * 1024,
  heldPerPlaceMaxBytes: 16 * 1024 * 1024,
  drainMaxBytes: limits.webhook.bodyMaxBytes,
  drainMaxMs: 250,
} as const

export interface WebhookUseCases {
  /** Judges the headers, before a byte of the body is read. */
  open(
    hookId: string,
    headers: IncomingHttpHeaders,
  ): { receive(body: Uint8Array): Promise<WebhookReceipt>; refused(error: unknown, sizeBytes: number): void }
  bodyTooLarge(): Problem
}

/** Where strangers deliver. There is no gate: the hook's secret is the proof, and it is over the body. */
export function webhookRoutes(
  scope: FastifyInstance,
  { use, clock }: { readonly use: WebhookUseCases; readonly clock: Clock },
): void {
  const bodies = createBodyReader(bounds, clock)
  // The bytes that came are what was signed; nothing reads them before us.
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, done) => done(null))
  createBinder(scope)(endpoints.webhookReceive, api.webhookReceive, async ({ params, raw, reply }) => {
    try {
      const hookId = params['hook_id'] ?? ''
      const delivery = use.open(hookId, raw.headers)
      const body = await bodies.read(raw.raw, hookId, use.bodyTooLarge).catch((error: unknown) => {
        delivery.refused(error, 0)
        throw error
      })
      const receipt = await delivery.receive(body)
      void reply.code(202)
      return receipt
    } catch (error) {
      // What is left of the body is not read: the connection cannot be used again.
      if (!raw.raw.complete) void reply.header('connection', 'close')
      await bodies.drain(raw.raw)
      throw error
    }
  })
}
