import * as z from 'zod/mini'

/** The operator's reserved id; exactly one agent bears it. */
export const operatorAgentId = 'operator'

/** Ids of agents that agents made begin so, and no others: who asks of another pays nothing for the question. */
export const spawnedPrefix = 'spawn_'

/** What people read as the name of whoever owns the fleet and has no other: no agent is called so, and no person who is none. */
export const ownerName = 'owner'

/** Ids that no new worker may take: another would do what people read as done by one of these. */
export const reservedAgentIds: readonly string[] = [
  'mesh',
  operatorAgentId,
  'canary-probe',
  ownerName,
  'system',
  'internal',
]

const agentIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** 1 to 64 characters: a letter or digit, then letters, digits, `_`, `-`. Case and `-`/`_` are significant. */
export const agentIdSchema = z
  .string()
  .check(
    z.regex(agentIdPattern, 'an agent id is 1 to 64 of A-Z a-z 0-9 _ -, starting with a letter or digit'),
  )
export type AgentId = string

export const idPrefixes = [
  'run',
  'task',
  'evt',
  'note',
  'start',
  'call',
  'msg',
  'sess',
  'steer',
  'life',
  'cred',
  'appr',
  'change',
  'hook',
  'sig',
  'spawn',
  'cron',
  'apply',
  'watch',
  'hand',
  'pay',
] as const
export type IdPrefix = (typeof idPrefixes)[number]

/** Makes a fresh id: the prefix, `_`, and 16 hex digits. An argument everywhere, so that tests can count. */
export type NewId = (prefix: IdPrefix) => string

/** A schema for ids with one prefix. Digits are not pinned to 16, so that tests may use readable ids. */
export function idSchema(prefix: IdPrefix) {
  return z
    .string()
    .check(z.regex(new RegExp(`^${prefix}_[0-9a-z]{1,32}$`), `expected an id starting with ${prefix}_`))
}

export const runIdSchema = idSchema('run')
export const taskIdSchema = idSchema('task')
