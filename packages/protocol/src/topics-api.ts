import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { idSchema } from './ids.ts'
import { jsonValueSchema } from './json-value.ts'

/** Bounds of topics and signals; both sides of the agent API agree on them. */
export const topicLimits = {
  topicMaxChars: 128,
  /**
   * The maximum size of the text and data of one signal together, in bytes of JSON; small enough that one answer to a
   * model holds the whole signal.
   */
  signalMaxBytes: 16 * 1024,
  /** Unread signals of one agent. A full inbox rejects more, and the publisher is informed. */
  unreadMax: 200,
  subscriptionsPerAgentMax: 100,
  topicsMax: 1000,
  /** The maximum number of signals in one answer to `read_signals`. */
  readMax: 50,
  /** The maximum number of signals of one topic that people see. */
  shownMax: 100,
} as const

/** Signals that agents publish to subscribers. */
export const topicAgentEndpoints = {
  signalPublish: { method: 'POST', path: '/mesh/signals', summary: 'Publish a signal on a topic.' },
  signalsRead: {
    method: 'POST',
    path: '/mesh/signals/read',
    summary: 'Return the calling agent’s unread signals, oldest first, and mark them read.',
  },
  topics: {
    method: 'GET',
    path: '/mesh/topics',
    summary: 'List the topics that the calling agent is subscribed to.',
  },
  topicSubscribe: { method: 'POST', path: '/mesh/topics/subscribe', summary: 'Subscribe to a topic.' },
  topicUnsubscribe: {
    method: 'POST',
    path: '/mesh/topics/unsubscribe',
    summary: 'Unsubscribe from a topic.',
  },
} as const satisfies Record<string, Endpoint>

/** The people's API of topics. */
export const topicHumanEndpoints = {
  topicsView: { method: 'GET', path: '/api/topics', summary: 'List topics and their subscribers.' },
  topicSignals: {
    method: 'GET',
    path: '/api/topics/{*topic}',
    summary: 'List the signals of one topic, newest first.',
  },
  signalsOf: { method: 'GET', path: '/api/agents/{id}/signals', summary: 'List one agent’s unread signals.' },
} as const satisfies Record<string, Endpoint>

export const topicSchema = z
  .string()
  .check(
    z.maxLength(topicLimits.topicMaxChars),
    z.regex(
      /^[A-Za-z0-9][A-Za-z0-9_.:-]*(?:\/[A-Za-z0-9_.:-]+)*$/,
      'a topic is segments of letters, digits and _ . : - joined by /',
    ),
  )

export const signalSchema = z.strictObject({
  id: idSchema('sig'),
  topic: z.string(),
  from: z.string(),
  /** Milliseconds since 1970. */
  at: z.number(),
  text: z.string(),
  data: jsonValueSchema,
})
export type SignalView = z.infer<typeof signalSchema>

const topicOnly = z.strictObject({ topic: topicSchema })

export const topicAgentApi = {
  signalPublish: {
    request: z.strictObject({
      topic: topicSchema,
      text: z.string().check(z.minLength(1), z.maxLength(topicLimits.signalMaxBytes)),
      data: z._default(jsonValueSchema, null),
    }),
    response: z.strictObject({
      signal_id: idSchema('sig'),
      /** How many agents have the signal in their inbox now. */
      delivered: z.int(),
      /** Subscribers that did not get the signal because their inbox is full. */
      full: z.array(z.string()),
    }),
  },
  signalsRead: {
    request: z.strictObject({
      limit: z._default(z.int().check(z.minimum(1), z.maximum(topicLimits.readMax)), 20),
    }),
    response: z.strictObject({
      signals: z.array(signalSchema),
      /** The number of further unread signals that are not in this answer. */
      more: z.int(),
    }),
  },
  topics: { response: z.strictObject({ topics: z.array(z.string()), unread: z.int() }) },
  topicSubscribe: { request: topicOnly, response: z.strictObject({ topics: z.array(z.string()) }) },
  topicUnsubscribe: { request: topicOnly, response: z.strictObject({ topics: z.array(z.string()) }) },
} as const satisfies Record<keyof typeof topicAgentEndpoints, EndpointSchemas>

export const topicHumanApi = {
  topicsView: {
    response: z.strictObject({
      topics: z.array(
        z.strictObject({
          topic: z.string(),
          subscribers: z.array(z.string()),
          /** How many signals are stored: unread ones, and the newest of the others. */
          signals: z.int(),
          last_at: z.nullable(z.number()),
        }),
      ),
    }),
  },
  topicSignals: {
    response: z.strictObject({
      subscribers: z.array(z.string()),
      /** How many signals are stored: unread ones, and the newest of the others. */
      kept: z.int(),
      /** The newest of the stored signals. */
      signals: z.array(signalSchema),
    }),
  },
  signalsOf: {
    response: z.strictObject({
      topics: z.array(z.string()),
      unread: z.int(),
      /** The newest unread signals, newest first. */
      signals: z.array(signalSchema),
    }),
  },
} as const satisfies Record<keyof typeof topicHumanEndpoints, EndpointSchemas>
