import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'

/** The maximum number of waiting lifecycle changes of one agent. */
const waitingMax = 50

/** Start, stop, restart and delete of one agent run one after the other; agents do not wait for each other. */
export interface AgentMutex {
  /** Runs `work` when everything taken before for this agent has ended. Problem `conflict` when too much waits. */
  take<T>(agentId: string, work: () => Promise<T>): Promise<T>
  /** Resolves to true when nothing is under way, and to false when that takes longer than `withinMs`. */
  settled(withinMs: number): Promise<boolean>
}

export function createAgentMutex(clock: Clock): AgentMutex {
  const lanes = new Map<string, { tail: Promise<void>; waiting: number }>()

  return {
    take: (agentId, work) => {
      const lane = lanes.get(agentId) ?? { tail: Promise.resolve(), waiting: 0 }
      if (lane.waiting >= waitingMax) {
        return Promise.reject(
          new Problem('conflict', { detail: `agent ${agentId} has ${waitingMax} changes waiting already` }),
        )
      }
      lanes.set(agentId, lane)
      lane.waiting++
      const mine = lane.tail.then(work)
      lane.tail = mine.then(
        () => {},
        () => {},
      )
      lane.tail = lane.tail.then(() => {
        lane.waiting--
        if (lane.waiting === 0) lanes.delete(agentId)
      })
      return mine
    },
    settled: async (withinMs) => {
      const late = new AbortController()
      const deadline = clock.sleep(withinMs, late.signal).then(
        () => false,
        () => true,
      )
      const drained = (async () => {
        while (lanes.size > 0) await Promise.all([...lanes.values()].map((lane) => lane.tail))
        return true
      })()
      const isDrained = await Promise.race([drained, deadline])
      late.abort()
      return isDrained
    },
  }
}
