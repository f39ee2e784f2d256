import * as z from 'zod/mini'

export { operatorAgentId } from './reserved-ids.ts'

/** Only ids of agents that agents created begin so: a caller can tell from the id, without a database query. */
export const spawnedPrefix = 'spawn_'

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
  'pack',
] as const
export type IdPrefix = (typeof idPrefixes)[number]

/** Creates a fresh id: the prefix, `_`, and 16 hex digits. Passed as an argument, so that tests can use counters. */
export type NewId = (prefix: IdPrefix) => string

/** A schema for ids with one prefix. Digits are not pinned to 16, so that tests may use readable ids. */
export function idSchema(prefix: IdPrefix) {
  return z
    .string()
    .check(z.regex(new RegExp(`^${prefix}_[0-9a-z]{1,32}$`), `expected an id starting with ${prefix}_`))
}

export const runIdSchema = idSchema('run')
export const taskIdSchema = idSchema('task')
