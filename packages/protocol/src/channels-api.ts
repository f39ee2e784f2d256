import * as z from 'zod/mini'
import { channelFieldMaxChars } from './channel-fields.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { channelNames, personRoles } from './people.ts'

/** Where chat platforms deliver. Anyone may call it; each channel rejects callers without a valid signature. */
export const channelPublicEndpoints = {
  channelVerify: {
    method: 'GET',
    path: '/channel/{name}',
    summary: 'Answer a chat platform’s verification of this address.',
  },
  channelReceive: {
    method: 'POST',
    path: '/channel/{name}',
    summary: 'Receive signed events from a chat platform.',
  },
} as const satisfies Record<string, Endpoint>

export const channelEndpoints = {
  channels: {
    method: 'GET',
    path: '/api/channels',
    summary: 'List the chat platforms and the state of each.',
  },
  channelAdd: {
    method: 'POST',
    path: '/api/channels/{name}',
    summary: 'Check tokens with a chat platform, store them and enable the channel.',
  },
  channelRemove: {
    method: 'DELETE',
    path: '/api/channels/{name}',
    summary: 'Disable a channel and delete its tokens.',
  },
  channelNotices: {
    method: 'PUT',
    path: '/api/channel-notices',
    summary: 'Set which notices owners receive, on which channels, and their quiet hours.',
  },
  channelPair: {
    method: 'POST',
    path: '/api/channels/{name}/pair',
    summary: 'Create a code. The account that sends it on the platform is linked to the owner.',
  },
} as const satisfies Record<string, Endpoint>

export type ChannelEndpointName = keyof typeof channelEndpoints

export const channelPairing = {
  /** The length of a code that links an account to the owner, in characters. */
  codeChars: 8,
  /** Without characters that are easily misread. */
  alphabet: 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789',
  /** How long a code is valid, in milliseconds. */
  codeMs: 10 * 60_000,
  /** After this many wrong codes of one sender, the mesh accepts no code from this sender. */
  triesMax: 5,
  /** Number of senders whose tries are counted separately; further ones only count in the total. */
  sendersMax: 10_000,
  /** After this many wrong codes of all senders the code ends; so many tries find it with odds of 1 to 10^6. */
  allTriesMax: 1_000_000,
} as const

/** The size limit of one delivery of a platform, in bytes. */
export const channelBodyMaxBytes = 1024 * 1024

/** `off` if the channel's credentials are missing. */
export const channelStates = ['off', 'connecting', 'connected', 'failing', 'refused'] as const

/** Kinds of notices to owners: notes, waiting approvals, budgets at 80 and 100 %, the operator's ended hand-offs. */
export const channelNoticeKinds = ['notes', 'approvals', 'budgets', 'tasks'] as const

const timeOfDay = z
  .string()
  .check(z.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'a time of day is expected, such as 22:00'))

export const channelNoticesSchema = z.strictObject({
  /** The channels that deliver notices; none by default. */
  to: z.array(z.enum(channelNames)).check(z.maxLength(channelNames.length)),
  about: z.array(z.enum(channelNoticeKinds)).check(z.maxLength(channelNoticeKinds.length)),
  /** Quiet hours in the time zone of the mesh's machine, after which waiting notices are sent. Null for none. */
  quiet_hours: z.nullable(z.strictObject({ from: timeOfDay, to: timeOfDay })),
})
export type ChannelNotices = z.infer<typeof channelNoticesSchema>

/** `open` waits for the code; `refused`: its sender cannot be an owner; `ended`: expired, or too many tries. */
export const channelPairingSchema = z.strictObject({
  state: z.enum(['open', 'paired', 'refused', 'ended']),
  expires_at: z.number(),
  /** The number of wrong codes in the meantime, from any sender. */
  wrong_tries: z.int(),
  /** The paired person, or why pairing failed; empty before. */
  detail: z.string(),
})

export const channelViewSchema = z.strictObject({
  name: z.enum(channelNames),
  state: z.enum(channelStates),
  /** The error, as text; empty without one. */
  detail: z.string(),
  /** How a person can repair it; empty if no repair is needed. */
  repair: z.string(),
  /** Identities on this channel that `config/people.json` names. */
  people: z.int(),
  /** These people, by their names in `config/people.json`. */
  linked: z.array(z.strictObject({ identity: z.string(), person: z.string(), role: z.enum(personRoles) })),
  /** The last requested code, without its value; null if none was requested since the mesh started. */
  pairing: z.nullable(channelPairingSchema),
  /** The channel's set and missing credentials, by `channelFields`; `environment` ones are changed only there. */
  credentials: z.array(z.strictObject({ name: z.string(), kept: z.enum(['none', 'file', 'environment']) })),
  /** The number of messages that wait to be sent. */
  waiting: z.int(),
})
export type ChannelView = z.infer<typeof channelViewSchema>

export const channelsApi = {
  channels: {
    response: z.strictObject({ channels: z.array(channelViewSchema), notices: channelNoticesSchema }),
  },
  channelAdd: {
    request: z.strictObject({
      /** Values by the names of `channelFields`; an omitted value stays unchanged. */
      values: z._default(
        z.record(
          z.string().check(z.maxLength(64)),
          z.string().check(z.minLength(1), z.maxLength(channelFieldMaxChars)),
        ),
        {},
      ),
      /** Only for the webhook channel: the address to which the mesh posts notices. */
      answers_to: z.optional(z.url({ protocol: /^https?$/ }).check(z.maxLength(500))),
    }),
    response: z.strictObject({
      channel: channelViewSchema,
      /** The account name that the platform reports for the token; empty if it has none. */
      account: z.string(),
      /** Values that the mesh generated because none were given; they are shown only this once. */
      made: z.record(z.string(), z.string()),
    }),
  },
  channelRemove: { response: z.strictObject({ removed: z.string(), dropped: z.int() }) },
  channelNotices: { request: channelNoticesSchema, response: channelNoticesSchema },
  channelPair: { response: z.strictObject({ code: z.string(), expires_at: z.number() }) },
} as const satisfies Record<ChannelEndpointName, EndpointSchemas>
