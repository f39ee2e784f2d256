import { Problem } from '@flotilla/protocol/problem'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { AgentLife } from './agent-life.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { endSandbox } from './end-sandbox.ts'
import { judgeData } from './judge-data.ts'
import { loseSandbox } from './lose-sandbox.ts'

/** Between two counts of the whole fleet; counting starts a container. */
const countIntervalMs = 60_000

/** The write stop for agents whose data no volume bounds. */
export interface DataMeter {
  /** Counts what running agents keep, once a minute at most, and stops those that are over their limit. */
  sweep(): Promise<void>
  /**
   * Problem `data-full` where the agent is over its limit. Only one that has failed before is counted: a start
   * that has no reason to wait does not.
   */
  requireRoom(row: AgentRow): Promise<void>
}

export function createDataMeter(life: AgentLife): DataMeter {
  let lastCount = -Infinity

  async function overLimits(agentIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const uses = await life.runtime.measureData(agentIds)
    const over = new Map<string, string>()
    for (const [agentId, use] of uses) {
      if (!use.complete) life.log.warn({ agentId, ...use }, 'the data of an agent was not counted to its end')
      const reason = judgeData(agentId, use, life.settings.dataLimitBytes(agentId))
      if (reason !== null) over.set(agentId, reason)
    }
    return over
  }

  return {
    sweep: async () => {
      const now = life.clock.now()
      if (now - lastCount < countIntervalMs) return
      const running = life.agents.list().filter((row) => isLive(row.state.kind))
      if (running.length === 0) return
      lastCount = now
      const over = await overLimits(running.map((row) => row.record.id))
      for (const row of running) {
        const reason = over.get(row.record.id)
        if (reason === undefined) continue
        life.log.warn({ agentId: row.record.id, reason }, 'agent is over its data limit and is stopped')
        await life.turns.take(row.record.id, () =>
          endSandbox(life, row, { reason, action: 'agent.data-full', gone: 'stopped' }),
        )
      }
    },
    requireRoom: async ({ record, state }) => {
      if (state.kind !== 'restarting' && state.kind !== 'quarantined') return
      const { id } = record
      const over = await overLimits([id]).catch((error: unknown) => {
        // Where counting does not work the start itself says why, or the next sweep counts.
        life.log.warn({ agentId: id, err: error }, 'what an agent keeps could not be counted')
        return new Map<string, string>()
      })
      const reason = over.get(id)
      if (reason === undefined) return
      loseSandbox(life, id, reason)
      throw new Problem('data-full', { detail: reason })
    },
  }
}
