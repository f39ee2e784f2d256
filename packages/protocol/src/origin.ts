import * as z from 'zod/mini'
import { channelNames, personRoles } from './people.ts'

export const originKinds = [
  'human',
  'operator',
  'agent',
  'system',
  'cron',
  'heartbeat',
  'webhook',
  'watcher',
] as const

export type OriginKind = (typeof originKinds)[number]

/** The channels of people: terminal, dashboard, other programs on the people's API, and chat platforms. */
export const peopleChannels = ['cli', 'dashboard', 'api', ...channelNames] as const

export const originUserMaxChars = 128

/** The requester of a piece of work. The mesh sets it when the request arrives, and never reads it from a body. */
export const originSchema = z.strictObject({
  kind: z.enum(originKinds),
  /** The channel of the request: `cli`, `dashboard`, `telegram`, or the agent API. */
  channel: z.string().check(z.maxLength(32)),
  /** The requesting person or agent, as the channel identifies them. */
  user: z.optional(z.string().check(z.maxLength(originUserMaxChars))),
  /** The role of a person who was not an owner when they asked; it decides how much their words are trusted. */
  role: z.optional(z.enum(personRoles).check(z.refine((role) => role !== 'owner'))),
  /** Set if a person forwarded another author's text: the text is trusted no more than a stranger's. */
  forwards: z.optional(z.literal(true)),
})
export type Origin = z.infer<typeof originSchema>

/** Whether a trigger of the mesh caused the work. A pause holds such work and everything that it causes. */
export function isProactive(origin: Origin): boolean {
  return (proactiveKinds as readonly string[]).includes(origin.kind)
}
const proactiveKinds = ['cron', 'heartbeat', 'webhook', 'watcher'] as const satisfies Origin['kind'][]
