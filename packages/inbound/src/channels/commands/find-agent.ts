import { noSuchAgent } from '@flotilla/protocol/no-such-agent'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { ChannelButton } from '../adapter.ts'
import type { CommandCall, CommandDeps } from './channel-command.ts'

/** The maximum length of a button's value, in bytes. */
const buttonValueMaxBytes = 64
const usePrefix = 'use:'

/** Returns the agents that the caller may talk to, without archived agents. */
export function agentsFor(
  deps: Pick<CommandDeps, 'agents' | 'decide'>,
  call: Pick<CommandCall, 'caller'>,
): readonly AgentView[] {
  return deps
    .agents()
    .filter(({ archived }) => !archived)
    .filter(({ id }) => deps.decide(call.caller, { do: 'submit-run', to: id }).allowed)
}

/** Returns the agent's id, ignoring case if unambiguous. Throws Problem `unknown-agent` with the nearest name. */
export function namedAgent(
  deps: Pick<CommandDeps, 'agents' | 'decide'>,
  call: Pick<CommandCall, 'caller'>,
  name: string,
): string {
  const all = deps.agents().map(({ id }) => id)
  if (all.includes(name)) return name
  const alike = all.filter((id) => id.toLowerCase() === name.toLowerCase())
  if (alike.length === 1 && alike[0] !== undefined) return alike[0]
  // Only agents that the person may talk to are named.
  throw noSuchAgent(
    name,
    agentsFor(deps, call).map(({ id }) => id),
  )
}

/**
 * Returns the agent that answers the caller in this conversation: the chosen agent, else the
 * operator, else the only agent that the caller may talk to. Null if no agent answers.
 */
export function agentHere(
  deps: CommandDeps,
  { caller, channel, person, message }: CommandCall,
): string | null {
  const chosen = deps.talks.agentOf({ channel, person, place: message.place })
  if (chosen !== null) return chosen
  const open = agentsFor(deps, { caller })
  if (open.some(({ id }) => id === operatorAgentId)) return operatorAgentId
  return open.length === 1 ? (open[0]?.id ?? null) : null
}

/** The reply to a person who may talk to no agent, such as a viewer. */
export const noAgentWords =
  'You have access to no agent. An owner can grant it: flotilla people change NAME --role member --agents AGENT'

/** Returns one button for each agent that the caller may talk to. */
export function agentButtons(deps: CommandDeps, call: CommandCall): readonly ChannelButton[] {
  return agentsFor(deps, call)
    .map(({ id }) => ({ label: id, value: usePrefix + id }))
    .filter(({ value }) => Buffer.byteLength(value) <= buttonValueMaxBytes)
}

/** Returns the agent that a button names, or null. Pure. */
export function agentOfButton(pressed: string): string | null {
  return pressed.startsWith(usePrefix) ? pressed.slice(usePrefix.length) : null
}
