import * as z from 'zod/mini'
import { channelFieldMaxChars } from './channel-fields.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { channelNames, personRoles } from './people.ts'

/** Where chat platforms deliver. Anyone may call it; each channel says by signature who may not. */
export const channelPublicEndpoints = {
  channelVerify: {
    method: 'GET',
    path: '/channel/{name}',
    summary: 'Answers a chat platform that asks whether this address is ours',
  },
  channelReceive: {
    method: 'POST',
    path: '/channel/{name}',
    summary: 'Takes what a chat platform delivers, signed',
  },
} as const satisfies Record<string, Endpoint>

export const channelEndpoints = {
  channels: { method: 'GET', path: '/api/channels', summary: 'Chat platforms, and how each is' },
  channelAdd: {
    method: 'POST',
    path: '/api/channels/{name}',
    summary: 'Asks the platform whether it knows these tokens, keeps them, and switches the channel on',
  },
  channelRemove: {
    method: 'DELETE',
    path: '/api/channels/{name}',
    summary: 'Switches a channel off and forgets its tokens',
  },
  channelNotices: {
    method: 'PUT',
    path: '/api/channel-notices',
    summary: 'What owners are told unasked, on which channels, and at which hours not',
  },
  channelPair: {
    method: 'POST',
    path: '/api/channels/{name}/pair',
    summary: 'A code by which whoever shows it on the platform is known as the owner there',
  },
} as const satisfies Record<string, Endpoint>

export type ChannelEndpointName = keyof typeof channelEndpoints

export const channelPairing = {
  codeChars: 8,
  /** Without what is read wrongly. */
  alphabet: 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789',
  /** How long a code holds, milliseconds. */
  codeMs: 10 * 60_000,
  /** Wrong codes of one sender, for whom the code then opens nothing. */
  triesMax: 5,
  /** Number of senders whose tries are counted separately; further ones only count in the total. */
  sendersMax: 10_000,
  /** Wrong codes of all: the odds of a right one among them are one to a million. */
  allTriesMax: 1_000_000,
} as const

/** Of what a platform delivers at once, bytes. */
export const channelBodyMaxBytes = 1024 * 1024

/** `off` where its credentials are missing. */
export const channelStates = ['off', 'connecting', 'connected', 'failing', 'refused'] as const

/** What agents and the mesh tell owners, what waits for a person, budgets at 80 and 100 %, and ended hand-offs of the operator. */
export const channelNoticeKinds = ['notes', 'approvals', 'budgets', 'tasks'] as const

const timeOfDay = z
  .string()
  .check(z.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'a time of day is expected, such as 22:00'))

export const channelNoticesSchema = z.strictObject({
  /** On which channels; none by default. */
  to: z.array(z.enum(channelNames)).check(z.maxLength(channelNames.length)),
  about: z.array(z.enum(channelNoticeKinds)).check(z.maxLength(channelNoticeKinds.length)),
  /** In the time zone of the mesh's machine; notices wait until they are over. Null for no quiet hours. */
  quiet_hours: z.nullable(z.strictObject({ from: timeOfDay, to: timeOfDay })),
})
export type ChannelNotices = z.infer<typeof channelNoticesSchema>

/** `open` waits for the code; `refused` knew it and could not be made an owner; `ended` is over without either. */
export const channelPairingSchema = z.strictObject({
  state: z.enum(['open', 'paired', 'refused', 'ended']),
  expires_at: z.number(),
  /** Wrong codes in the meantime, from any sender. */
  wrong_tries: z.int(),
  /** The paired person, or why pairing failed; empty before. */
  detail: z.string(),
})

export const channelViewSchema = z.strictObject({
  name: z.enum(channelNames),
  state: z.enum(channelStates),
  /** What is wrong, in words; empty while nothing is. */
  detail: z.string(),
  /** What a person can do about it; empty where nothing need be done. */
  repair: z.string(),
  /** Identities on this channel that `config/people.json` names. */
  people: z.int(),
  /** Who they are, by name in `config/people.json`. */
  linked: z.array(z.strictObject({ identity: z.string(), person: z.string(), role: z.enum(personRoles) })),
  /** The code that was asked for last, without it; null where none was since the mesh started. */
  pairing: z.nullable(channelPairingSchema),
  /** The credentials it has or lacks, as `channelFields` has them; `environment` is the mesh's own and changed there. */
  credentials: z.array(z.strictObject({ name: z.string(), kept: z.enum(['none', 'file', 'environment']) })),
  /** Letters that wait to be sent. */
  waiting: z.int(),
})
export type ChannelView = z.infer<typeof channelViewSchema>

export const channelsApi = {
  channels: {
    response: z.strictObject({ channels: z.array(channelViewSchema), notices: channelNoticesSchema }),
  },
  channelAdd: {
    request: z.strictObject({
      /** By the names of `channelFields`; what is left out is as it is kept. */
      values: z._default(
        z.record(
          z.string().check(z.maxLength(64)),
          z.string().check(z.minLength(1), z.maxLength(channelFieldMaxChars)),
        ),
        {},
      ),
      /** For the webhook channel: the address to which notices are posted. */
      answers_to: z.optional(z.url({ protocol: /^https?$/ }).check(z.maxLength(500))),
    }),
    response: z.strictObject({
      channel: channelViewSchema,
      /** As whom the platform knows the token; empty where it has no such name. */
      account: z.string(),
      /** What the mesh made because none was given, told this once. */
      made: z.record(z.string(), z.string()),
    }),
  },
  channelRemove: { response: z.strictObject({ removed: z.string(), dropped: z.int() }) },
  channelNotices: { request: channelNoticesSchema, response: channelNoticesSchema },
  channelPair: { response: z.strictObject({ code: z.string(), expires_at: z.number() }) },
} as const satisfies Record<ChannelEndpointName, EndpointSchemas>
