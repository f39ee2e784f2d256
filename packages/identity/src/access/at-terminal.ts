import { Problem } from '@flotilla/protocol/problem'
import type { Caller, HumanCaller } from './caller.ts'

/** Channels on which a person sees what they decide: never a chat, whose text may come from another party. */
const terminalChannels: readonly string[] = ['cli', 'api', 'dashboard']

export type PersonAtTerminal = HumanCaller

/** Whether the caller is an owner on a terminal or on the dashboard. Pure. */
export function isAtTerminal(caller: Caller): caller is PersonAtTerminal {
  return caller.kind === 'human' && caller.role === 'owner' && terminalChannels.includes(caller.channel)
}

/**
 * Problem `denied` for callers that are not known to be the owner: sessions of a hosted mesh do not identify
 * a person.
 */
export function requireOwner(caller: Caller, what: string): void {
  if (caller.kind === 'human' && caller.role === 'owner' && caller.local === true) return
  throw new Problem('denied', {
    detail: `only the owner can ${what}, on the machine of the mesh, as the user of the mesh or as a user in local_users of config/settings.json`,
  })
}

/**
 * Problem `human-only` for all other callers: agents, chats, people who are not owners, local programs and the mesh
 * itself.
 */
export function requireAtTerminal(caller: Caller, what: string): PersonAtTerminal {
  const isNoOwner = caller.kind === 'human' && caller.role !== 'owner'
  if (isAtTerminal(caller)) return caller
  throw new Problem('human-only', {
    detail: isNoOwner
      ? `only an owner can ${what}`
      : `only a person at the terminal or the dashboard can ${what}`,
  })
}
