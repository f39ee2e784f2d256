import type { Clock } from '@flotilla/protocol/clock'
import { agentShare } from '@flotilla/protocol/limits'
import { createHeldBytes } from './held-bytes.ts'
import { createLoopShare } from './loop-share.ts'
import { createLoopTurns } from './loop-turns.ts'

export type AgentShares = ReturnType<typeof createAgentShares>

/** What one agent may take of the mesh, apart for what it calls and what it answers: calls of anybody use up nothing that replies have. */
export function createAgentShares(deps: { readonly clock: Clock; readonly cpuMs: () => number }) {
  const turns = createLoopTurns(deps)
  const share = { ...deps, turns, msPerMinute: agentShare.loopMsPerMinute }
  return {
    held: {
      calls: createHeldBytes(agentShare.heldBytes),
      replies: createHeldBytes(agentShare.heldBytes),
      downloads: createHeldBytes(agentShare.downloadBytes),
    },
    calls: createLoopShare({ ...share, what: 'calls of this agent' }),
    replies: createLoopShare({ ...share, what: 'replies of this agent' }),
  }
}
