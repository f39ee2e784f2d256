import { Problem } from '@flotilla/protocol/problem'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { AgentContext } from './agent-context.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { endSandbox } from './end-sandbox.ts'
import { judgeData } from './judge-data.ts'
import { loseSandbox } from './lose-sandbox.ts'

/** Interval between two counts of the whole fleet, milliseconds; each count starts a container. */
const countIntervalMs = 60_000

/** Stops agents whose data exceeds its limit, where no volume enforces that limit. */
export interface DataMeter {
  /** Counts the data of running agents, once a minute at most, and stops agents above their limit. */
  sweep(): Promise<void>
  /**
   * Throws the Problem `data-full` if the agent exceeds its limit. Counts only an agent that is restarting or in
   * quarantine, because counting delays a start.
   */
  requireRoom(row: AgentRow): Promise<void>
}

export function createDataMeter(context: AgentContext): DataMeter {
  let lastCount = -Infinity

  async function overLimits(agentIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const uses = await context.runtime.measureData(agentIds)
    const over = new Map<string, string>()
    for (const [agentId, use] of uses) {
      if (!use.complete)
        context.log.warn(
          { agentId, ...use },
          'an agent has too many files to measure; its limit uses what was counted',
        )
      const reason = judgeData(agentId, use, context.settings.dataLimitBytes(agentId))
      if (reason !== null) over.set(agentId, reason)
    }
    return over
  }

  return {
    sweep: async () => {
      const now = context.clock.now()
      if (now - lastCount < countIntervalMs) return
      const running = context.agents.list().filter((row) => isLive(row.state.kind))
      if (running.length === 0) return
      lastCount = now
      const over = await overLimits(running.map((row) => row.record.id))
      for (const row of running) {
        const reason = over.get(row.record.id)
        if (reason === undefined) continue
        context.log.warn(
          { agentId: row.record.id, reason },
          'an agent exceeded its data limit; it is stopped until it uses less or the limit is raised',
        )
        await context.mutex.take(row.record.id, () =>
          endSandbox(context, row, { reason, action: 'agent.data-full', gone: 'stopped' }),
        )
      }
    },
    requireRoom: async ({ record, state }) => {
      if (state.kind !== 'restarting' && state.kind !== 'quarantined') return
      const { id } = record
      const over = await overLimits([id]).catch((error: unknown) => {
        // If counting fails, the start itself reports the reason, or the next sweep counts again.
        context.log.warn(
          { agentId: id, err: error },
          'failed to measure the data of an agent; its limit uses the previous measurement',
        )
        return new Map<string, string>()
      })
      const reason = over.get(id)
      if (reason === undefined) return
      loseSandbox(context, id, reason)
      throw new Problem('data-full', { detail: reason })
    },
  }
}
