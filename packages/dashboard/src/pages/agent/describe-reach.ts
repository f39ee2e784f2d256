import type { PermissionRecord } from '@flotilla/protocol/permission-record'

/** Entries that one part of the sentence names; the others are counted. */
const namedMax = 3

/** Says in one sentence what an agent may reach with these permissions, and what it may not. Pure. */
export function describeReach(agent: string, record: PermissionRecord): string {
  const may = [
    ...listed(record.can_message, { verb: 'ask', all: 'any agent' }),
    ...webOf(record),
    ...listed(record.blackboard_read, { verb: 'read', ...board }),
    ...listed(record.blackboard_write, { verb: 'write', ...board }),
    ...listed(record.allowed_credentials, {
      verb: 'use',
      all: 'every credential',
      place: ' as credentials',
    }),
    ...(record.can_use_wallet ? ['pay from the wallet'] : []),
    ...(record.can_manage_cron ? ['schedule its own work'] : []),
    ...(record.can_spawn ? ['make helpers'] : []),
    ...(record.can_manage_fleet || record.can_edit_agent_config ? ['change other agents'] : []),
  ]
  const mayNot = [
    ...(record.can_message.length === 0 ? ['ask other agents'] : []),
    ...(webOf(record).length === 0 ? ['reach the web by its tools'] : []),
    ...(record.allowed_credentials.length === 0 ? ['use credentials'] : []),
    ...(record.can_use_wallet ? [] : ['pay']),
  ]
  const first =
    may.length === 0
      ? `${agent} may reach nothing beyond its own files`
      : `${agent} may ${joined(may, 'and')}`
  return mayNot.length === 0 ? `${first}.` : `${first}; it may not ${joined(mayNot, 'or')}.`
}

function webOf({ allowed_apis: apis, can_use_browser: browses }: PermissionRecord): readonly string[] {
  const all = apis.includes('*')
  const ways = [
    ...(all || apis.includes('http') ? ['requests'] : []),
    ...(all || apis.includes('web_search') ? ['searches'] : []),
    ...(browses ? ['a browser'] : []),
  ]
  return ways.length === 0 ? [] : [`reach the web by ${joined(ways, 'and')}`]
}

const board = { all: 'the whole blackboard', place: ' on the blackboard' } as const

function listed(
  entries: readonly string[],
  { verb, all, place = '' }: { readonly verb: string; readonly all: string; readonly place?: string },
): readonly string[] {
  if (entries.length === 0) return []
  if (entries.includes('*')) return [`${verb} ${all}`]
  const named = entries.slice(0, namedMax)
  const more = entries.length - named.length
  return [`${verb} ${joined(more === 0 ? named : [...named, `${more} more`], 'and')}${place}`]
}

function joined(parts: readonly string[], word: 'and' | 'or'): string {
  return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} ${word} ${parts.at(-1)}`
}
