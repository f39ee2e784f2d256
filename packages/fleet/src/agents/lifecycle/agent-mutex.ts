import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { createTurns } from '@flotilla/protocol/turns'

/** The maximum number of waiting lifecycle changes of one agent. */
const waitingMax = 50

/** Runs the starts, stops, restarts and deletions of one agent one after another; agents do not block each other. */
export interface AgentMutex {
  /** Runs `work` after all earlier operations on this agent. Problem `conflict` if too many operations wait. */
  take<T>(agentId: string, work: () => Promise<T>): Promise<T>
  /** Resolves to true once no operation is in progress, or to false after `withinMs` milliseconds. */
  settled(withinMs: number): Promise<boolean>
}

export function createAgentMutex(clock: Clock): AgentMutex {
  const turns = createTurns()
  const waiting = new Map<string, number>()

  return {
    async take(agentId, work) {
      const count = waiting.get(agentId) ?? 0
      if (count >= waitingMax) {
        throw new Problem('conflict', {
          detail: `${waitingMax} starts, stops and other changes of agent ${agentId} are waiting already; try again in a minute`,
        })
      }
      waiting.set(agentId, count + 1)
      try {
        return await turns.take([agentId], work)
      } finally {
        const left = (waiting.get(agentId) ?? 1) - 1
        if (left === 0) waiting.delete(agentId)
        else waiting.set(agentId, left)
      }
    },
    settled: async (withinMs) => {
      const late = new AbortController()
      const deadline = clock.sleep(withinMs, late.signal).then(
        () => false,
        () => true,
      )
      const drained = turns.idle().then(() => true)
      const isDrained = await Promise.race([drained, deadline])
      late.abort()
      return isDrained
    },
  }
}
