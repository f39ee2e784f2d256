import { operatorAgentId } from '@flotilla/protocol/ids'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { nearestName } from '@flotilla/protocol/nearest-name'
import { Problem } from '@flotilla/protocol/problem'
import type { ChannelButton } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import type { CommandCall, CommandDeps } from './channel-command.ts'

/** Buttons bear so many bytes. */
const buttonValueMaxBytes = 64
const usePrefix = 'use:'

/** Agents that the caller may talk to; archived ones take no part. */
export function agentsFor(
  deps: Pick<CommandDeps, 'agents' | 'decide'>,
  call: Pick<CommandCall, 'caller'>,
): readonly AgentView[] {
  return deps
    .agents()
    .filter(({ archived }) => !archived)
    .filter(({ id }) => deps.decide(call.caller, { do: 'submit-run', to: id }).allowed)
}

/** The agent of that name, its case aside where that leaves one. Problem `unknown-agent` with the nearest name. */
export function namedAgent(deps: Pick<CommandDeps, 'agents'>, name: string): string {
  const all = deps.agents().map(({ id }) => id)
  if (all.includes(name)) return name
  const alike = all.filter((id) => id.toLowerCase() === name.toLowerCase())
  if (alike.length === 1 && alike[0] !== undefined) return alike[0]
  const shown = name.slice(0, channelLimits.nameMaxChars)
  const nearest = nearestName(shown, all)
  throw new Problem('unknown-agent', {
    detail: `there is no agent ${shown}${nearest === null ? '' : `; did you mean ${nearest}?`}`,
  })
}

/** Whom the caller talks to here: whom they chose, else the operator, else the only one there is for them; null for nobody. */
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

/** To who may talk to nobody: a viewer is granted no agent. */
export const noAgentWords =
  'No agent is granted to you. An owner can: flotilla people change NAME --role member --agents AGENT'

/** One button for each agent that the caller may talk to. */
export function agentButtons(deps: CommandDeps, call: CommandCall): readonly ChannelButton[] {
  return agentsFor(deps, call)
    .map(({ id }) => ({ label: id, value: usePrefix + id }))
    .filter(({ value }) => Buffer.byteLength(value) <= buttonValueMaxBytes)
}

/** The agent that a button of ours names, or null. Pure. */
export function agentOfButton(pressed: string): string | null {
  return pressed.startsWith(usePrefix) ? pressed.slice(usePrefix.length) : null
}
