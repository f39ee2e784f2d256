import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { channelNames } from './people.ts'

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
  /** Senders whose tries are told apart; those beyond count among all. */
  sendersMax: 10_000,
  /** Wrong codes of all: the odds of a right one among them are one to a million. */
  allTriesMax: 1_000_000,
} as const

/** Of what a platform delivers at once, bytes. */
export const channelBodyMaxBytes = 1024 * 1024

/** `off` where its credentials are not there. */
export const channelStates = ['off', 'connecting', 'connected', 'failing', 'refused'] as const

export const channelViewSchema = z.strictObject({
  name: z.enum(channelNames),
  state: z.enum(channelStates),
  /** What is wrong, in words; empty while nothing is. */
  detail: z.string(),
  /** What a person can do about it; empty where nothing need be done. */
  repair: z.string(),
  /** Identities on this channel that `config/people.json` names. */
  people: z.int(),
  /** Letters that wait to be sent. */
  waiting: z.int(),
})
export type ChannelView = z.infer<typeof channelViewSchema>

export const channelsApi = {
  channels: { response: z.strictObject({ channels: z.array(channelViewSchema) }) },
  channelPair: { response: z.strictObject({ code: z.string(), expires_at: z.number() }) },
} as const satisfies Record<ChannelEndpointName, EndpointSchemas>
