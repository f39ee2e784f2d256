import { Problem } from '@flotilla/protocol/problem'
import type { ParentLoop } from '../loop/loop-deps.ts'
import { formatLost } from './format-notices.ts'
import { lostSubagents } from './lost-subagents.ts'
import type { LostSubagent } from './lost-subagents.ts'
import type { SubagentPool, SubagentPoolDeps, Supervisor } from './subagent-pool.ts'
import { subagentLimits } from './subagent-limits.ts'

/** Loads the code that starts and tracks sub-agents with the first sub-agent, so that a pool alone costs little. */
export function createSubagentPool(deps: SubagentPoolDeps): SubagentPool {
  const { depthMax } = subagentLimits
  if (deps.depth >= depthMax) throw new Error('a loop at the last depth has no sub-agents')
  let parent: ParentLoop | null = null
  let supervisor: Supervisor | null = null
  let lost: readonly LostSubagent[] = []
  let isLossReported = false

  const current = (): ParentLoop => {
    if (parent) return parent
    throw new Problem('unprocessable', {
      detail: 'Sub-agents can only be started within a conversation or a task.',
    })
  }
  return {
    begin: (loop) => {
      parent = loop
      lost = lostSubagents(loop.state.toolOutputs)
      isLossReported = lost.length === 0
    },
    end: async () => {
      parent = null
      await supervisor?.end()
    },
    takeLost: () => {
      if (isLossReported) return null
      isLossReported = true
      return formatLost(lost)
    },
    takeUnread: () => supervisor?.takeUnread() ?? null,
    supervisor: async () => {
      current()
      const { createSupervisor } = await import('./supervisor.ts')
      const depth = deps.depth + 1
      const childPool = depth < depthMax ? () => createSubagentPool({ ...deps, depth }) : null
      supervisor ??= createSupervisor({ ...deps, parent: current(), lost, childPool })
      return supervisor
    },
  }
}
