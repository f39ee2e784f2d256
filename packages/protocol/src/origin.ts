import * as z from 'zod/mini'
import { personRoles } from './people.ts'

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

export const originUserMaxChars = 128

/** Who asked for a piece of work. Stamped by the mesh at entry, frozen, never read from a body. */
export const originSchema = z.strictObject({
  kind: z.enum(originKinds),
  /** Where it came in: `cli`, `dashboard`, `telegram`, or the agent API. */
  channel: z.string().check(z.maxLength(32)),
  /** The person or agent behind it, as the channel knows them. */
  user: z.optional(z.string().check(z.maxLength(originUserMaxChars))),
  /** Of a person who was no owner when they asked: what their words are believed by. */
  role: z.optional(z.enum(personRoles).check(z.refine((role) => role !== 'owner'))),
  /** For a person who forwarded another author's text: it is trusted no more than a stranger's. */
  forwards: z.optional(z.literal(true)),
})
export type Origin = z.infer<typeof originSchema>

/** Work that was not requested at that time: triggers of the mesh. A pause holds it, and all that it causes. */
export function isProactive(origin: Origin): boolean {
  return (proactiveKinds as readonly string[]).includes(origin.kind)
}
const proactiveKinds = ['cron', 'heartbeat', 'webhook', 'watcher'] as const satisfies Origin['kind'][]
