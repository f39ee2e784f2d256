import type { Clock } from '@flotilla/protocol/clock'
import { createHeldBytes } from './held-bytes.ts'
import { createLoopShare } from './loop-share.ts'
import { createLoopTurns } from './loop-turns.ts'
import { agentShareLimits } from './agent-share-limits.ts'

export type AgentShares = ReturnType<typeof createAgentShares>

/**
 * Limits how much of the mesh one agent may use, separately for its calls and its replies, so that calls never block
 * replies.
 */
export function createAgentShares(deps: { readonly clock: Clock; readonly cpuMs: () => number }) {
  const turns = createLoopTurns(deps)
  const share = { ...deps, turns, msPerMinute: agentShareLimits.loopMsPerMinute }
  return {
    held: {
      calls: createHeldBytes(agentShareLimits.heldBytes),
      replies: createHeldBytes(agentShareLimits.heldBytes),
      downloads: createHeldBytes(agentShareLimits.downloadBytes),
    },
    calls: createLoopShare({ ...share, what: 'calls of this agent' }),
    replies: createLoopShare({ ...share, what: 'replies of this agent' }),
  }
}
