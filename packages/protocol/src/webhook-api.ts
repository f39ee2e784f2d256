import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, idSchema } from './ids.ts'
import { jsonValueSchema } from './json-value.ts'

/** Where external senders deliver. Anyone may call it; a webhook with a secret rejects unsigned deliveries. */
export const webhookPublicEndpoints = {
  webhookReceive: {
    method: 'POST',
    path: '/webhook/hook/{hook_id}',
    summary: 'Receive an event for the agent of a webhook.',
  },
} as const satisfies Record<string, Endpoint>

/** The people's API of webhooks for the dashboard; agents have no such endpoints. */
export const webhookEndpoints = {
  webhooks: { method: 'GET', path: '/api/webhooks', summary: 'List webhooks, without their secrets.' },
  webhookCreate: {
    method: 'POST',
    path: '/api/webhooks',
    summary: 'Create a webhook. Only this answer contains its secret.',
  },
  webhookChange: { method: 'PATCH', path: '/api/webhooks/{id}', summary: 'Change a webhook.' },
  webhookDelete: {
    method: 'DELETE',
    path: '/api/webhooks/{id}',
    summary: 'Delete a webhook with its secret and its history.',
  },
  webhookTest: {
    method: 'POST',
    path: '/api/webhooks/{id}/test',
    summary: 'Deliver a payload to a webhook as a person, without a signature.',
  },
  webhookRotate: {
    method: 'POST',
    path: '/api/webhooks/{id}/rotate',
    summary: 'Replace a webhook’s secret. The previous one stays valid for a limited time.',
  },
  webhookDeliveries: {
    method: 'GET',
    path: '/api/webhooks/{id}/deliveries',
    summary: 'List deliveries with their results, newest first.',
  },
  webhookReplay: {
    method: 'POST',
    path: '/api/webhooks/{id}/deliveries/{delivery}/replay',
    summary: 'Process a stored delivery again.',
  },
} as const satisfies Record<string, Endpoint>

export type WebhookEndpointName = keyof typeof webhookEndpoints

export const webhookLimits = {
  /** The maximum length of the name of a webhook, in characters. */
  nameMaxChars: 80,
  /** The maximum length of the instructions that an agent gets with each delivery, in characters. */
  instructionsMaxChars: 4000,
  /** The maximum length of a webhook's condition, in characters. */
  whenMaxChars: 500,
  /** A secret that the sender generated; 16 characters are the minimum against guessing. */
  secretMinChars: 16,
  /** The maximum length of the secret of a webhook, in characters. */
  secretMaxChars: 256,
  /** The highest limit of deliveries per minute that a webhook can have. */
  perMinuteMax: 10_000,
  /** How long the previous secret of a webhook stays valid after a rotation, in hours. */
  overlapHours: { default: 24, max: 168 },
  /** The number of deliveries in one reply if the caller requests no number. */
  pageDefault: 50,
  /** The maximum number of deliveries in one reply. */
  pageMax: 200,
} as const

/** The results of a delivery: only `accepted` started a run. */
export const deliveryStates = ['accepted', 'duplicate', 'skipped', 'refused', 'limited'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** How a delivery came: from outside, by a person's test, or as a replay. */
export const deliveryWays = ['sender', 'test', 'replay'] as const
export type DeliveryWay = (typeof deliveryWays)[number]

/**
 * How to treat a repeated body whose signature covers only the body (`x-webhook-signature`, GitHub), without a
 * timestamp or delivery id. `refuse`: it is the same delivery, whatever its unsigned id. `accept`: it is a new event,
 * unless the history has its id; an attacker who recorded a delivery can then replay it.
 */
export const hookRepeats = ['refuse', 'accept'] as const
export type HookRepeats = (typeof hookRepeats)[number]

const oneLine = (maxChars: number) =>
  z.string().check(z.minLength(1), z.maxLength(maxChars), z.regex(/^[^\p{Cc}]+$/u, 'one line is expected'))
const instructions = z.string().check(z.maxLength(webhookLimits.instructionsMaxChars))
const when = z.nullable(z.string().check(z.minLength(1), z.maxLength(webhookLimits.whenMaxChars)))
const perMinute = z.nullable(z.int().check(z.minimum(1), z.maximum(webhookLimits.perMinuteMax)))
const secret = z
  .string()
  .check(
    z.minLength(webhookLimits.secretMinChars),
    z.maxLength(webhookLimits.secretMaxChars),
    z.regex(/^[\x21-\x7e]+$/, 'a secret is printable ASCII without spaces'),
  )

export const webhookViewSchema = z.strictObject({
  id: idSchema('hook'),
  name: z.string(),
  agent_id: agentIdSchema,
  /** The path to append to the mesh's external address. */
  path: z.string(),
  /** Instructions to the agent for an event; empty for the default sentence. */
  instructions: z.string(),
  /** The condition that a payload must meet to start a run. */
  when: z.nullable(z.string()),
  /** Deliveries a minute; null follows `webhooks.per_minute` of the settings. */
  per_minute: z.nullable(z.number()),
  enabled: z.boolean(),
  repeats: z.enum(hookRepeats),
  /** Whether every delivery must be signed. */
  signed: z.boolean(),
  /** When the secret before the last rotation expires, milliseconds since 1970. */
  previous_secret_until: z.nullable(z.number()),
  created_at: z.number(),
  /** Deliveries that are still in the history, by result. */
  counts: z.record(z.enum(deliveryStates), z.number()),
  last_delivery_at: z.nullable(z.number()),
})
export type WebhookView = z.infer<typeof webhookViewSchema>

export const deliveryViewSchema = z.strictObject({
  delivery: z.number(),
  hook_id: idSchema('hook'),
  way: z.enum(deliveryWays),
  state: z.enum(deliveryStates),
  /** A problem code if the delivery was refused or limited. */
  code: z.nullable(z.string()),
  /** Why the delivery started no run, as text. */
  reason: z.nullable(z.string()),
  /** The sender's id of the delivery. */
  sender_id: z.nullable(z.string()),
  size_bytes: z.number(),
  /** How many deliveries of the same kind this row covers; rejections within one minute share a row. */
  count: z.number(),
  run_id: z.nullable(z.string()),
  /** How the run ended; null while it is active. */
  outcome: z.nullable(z.string()),
  /** The delivery that this one replays. */
  replay_of: z.nullable(z.number()),
  /** Whether the payload is still kept, so that it can be replayed. */
  replayable: z.boolean(),
  /** The part of the payload that the agent got; null if it is not kept. */
  payload: z.nullable(z.string()),
  at: z.number(),
  settled_at: z.nullable(z.number()),
})
export type DeliveryView = z.infer<typeof deliveryViewSchema>

/** The reply to the sender. It never contains text of the agent. */
export const webhookReceiptSchema = z.strictObject({
  status: z.enum(['accepted', 'skipped']),
  run_id: z.nullable(z.string()),
  /** True if the delivery is a repeat; `run_id` is then the run of the first one. */
  duplicate: z.boolean(),
})
export type WebhookReceipt = z.infer<typeof webhookReceiptSchema>

const shownOnce = z.strictObject({
  webhook: webhookViewSchema,
  /** The secret, which is shown only once; null without a secret, or if the caller supplied the secret. */
  secret: z.nullable(z.string()),
})

export const webhookPublicApi = {
  webhookReceive: { response: webhookReceiptSchema },
} as const satisfies Record<keyof typeof webhookPublicEndpoints, EndpointSchemas>

export const webhookApi = {
  webhooks: { response: z.strictObject({ webhooks: z.array(webhookViewSchema) }) },
  webhookCreate: {
    request: z.strictObject({
      name: oneLine(webhookLimits.nameMaxChars),
      agent_id: agentIdSchema,
      instructions: z._default(instructions, ''),
      when: z._default(when, null),
      per_minute: z._default(perMinute, null),
      /** False leaves the hook without a secret: anyone who knows its address may deliver. */
      signed: z._default(z.boolean(), true),
      repeats: z._default(z.enum(hookRepeats), 'refuse'),
      /** A secret that the sender generated; if omitted, the mesh generates one. */
      secret: z.optional(secret),
    }),
    response: shownOnce,
  },
  webhookChange: {
    request: z.strictObject({
      name: z.optional(oneLine(webhookLimits.nameMaxChars)),
      agent_id: z.optional(agentIdSchema),
      instructions: z.optional(instructions),
      when: z.optional(when),
      per_minute: z.optional(perMinute),
      enabled: z.optional(z.boolean()),
      repeats: z.optional(z.enum(hookRepeats)),
      /** False deletes the secret; to replace it, rotate it. */
      signed: z.optional(z.literal(false)),
    }),
    response: webhookViewSchema,
  },
  webhookDelete: { response: z.strictObject({ deleted: z.string() }) },
  webhookTest: {
    request: z.strictObject({ payload: jsonValueSchema }),
    response: deliveryViewSchema,
  },
  webhookRotate: {
    request: z.strictObject({
      secret: z.optional(secret),
      /** How long the previous secret stays valid; 0 revokes it immediately. */
      overlap_hours: z._default(
        z.number().check(z.minimum(0), z.maximum(webhookLimits.overlapHours.max)),
        webhookLimits.overlapHours.default,
      ),
    }),
    response: shownOnce,
  },
  webhookDeliveries: {
    query: z.strictObject({
      limit: z._default(
        z.coerce.number().check(z.int(), z.minimum(1), z.maximum(webhookLimits.pageMax)),
        webhookLimits.pageDefault,
      ),
      /** Only deliveries with a smaller number. */
      before: z.optional(z.coerce.number().check(z.int(), z.minimum(1))),
    }),
    response: z.strictObject({ deliveries: z.array(deliveryViewSchema) }),
  },
  webhookReplay: { response: deliveryViewSchema },
} as const satisfies Record<WebhookEndpointName, EndpointSchemas>
