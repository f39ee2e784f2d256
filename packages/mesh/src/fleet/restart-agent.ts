import { Problem } from '@flotilla/protocol/problem'
import type { Guard } from '../policy/action.ts'
import type { Caller } from '../policy/caller.ts'
import type { AgentLife } from './agent-life.ts'
import type { Walls } from './ensure-running.ts'
import type { AgentStarts } from './start-agent.ts'

export type RestartAgent = (caller: Caller, agentId: string) => Promise<void>

/** Re-creates an agent's sandbox and waits until it answers; its data stays, what it was doing is cut off. */
export function restartAgent(deps: {
  readonly guard: Guard
  readonly life: AgentLife
  readonly starts: AgentStarts
  readonly walls: Walls
}): RestartAgent {
  return async (caller, agentId) => {
    deps.guard(caller, { do: 'manage-agent', agentId })
    deps.life.agents.require(agentId)
    if (!deps.walls.hold()) {
      throw new Problem('fleet-paused', { detail: 'a wall around the agents does not hold' })
    }
    await deps.starts.start(agentId, { fresh: true })
  }
}
