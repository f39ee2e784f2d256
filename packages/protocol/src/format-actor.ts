import { ownerName } from './reserved-ids.ts'
import type { Origin } from './origin.ts'

/** Display names of channels. */
const channelWords: Readonly<Record<string, string>> = { cli: 'terminal', api: 'API' }

/**
 * The readable name of an actor: `human:cli` is the owner at the terminal, `human:ann@telegram` is ann on telegram,
 * `agent:scout` is scout. Any other name is returned unchanged. Pure.
 */
export function formatActor(actor: string): string {
  const [, kind, name = ''] = /^(human|agent):(.+)$/.exec(actor) ?? []
  if (kind === 'agent') return name
  if (kind === undefined) return actor === 'system' ? 'mesh' : actor
  const at = name.lastIndexOf('@')
  const channel = name.slice(at + 1)
  return `${at === -1 ? ownerName : name.slice(0, at)} (${formatChannel(channel)})`
}

/** The display name of a channel. Pure. */
export function formatChannel(channel: string): string {
  return channelWords[channel] ?? channel
}

/** Describes who requested the work and through which channel. Pure. */
export function formatOrigin({ kind, channel, user }: Origin): string {
  if (kind === 'human') return formatActor(`human:${user === undefined ? '' : `${user}@`}${channel}`)
  return [kind, channel, user].filter(Boolean).join(' · ')
}
