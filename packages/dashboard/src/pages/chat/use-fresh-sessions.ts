import { useEffect, useRef } from 'react'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { useServices } from '../../data/use-mesh.ts'

/**
 * Loads the list of an agent's conversations again after each of its runs, and when the open conversation has more
 * messages. The agent itself answers this call, so events of other agents must not cause it: they would keep the agent
 * from hibernating.
 */
export function useFreshSessions(
  agent: string,
  {
    runs,
    messages,
  }: {
    /** The newest runs of the agent, newest first. */
    readonly runs: readonly RunView[]
    /** How many messages the open conversation has; undefined until they are loaded. */
    readonly messages: number | undefined
  },
): void {
  const { queries } = useServices()
  const ended = runs.find(({ state }) => isTerminal(state))?.id
  const known = useRef<string | undefined>(undefined)
  useEffect(() => {
    if (messages === undefined) return
    const now = `${agent} ${ended} ${messages}`
    const before = known.current
    known.current = now
    if (before === undefined || before === now) return
    void queries.invalidateQueries({ queryKey: ['chatSessions', { id: agent }] })
  }, [agent, ended, messages, queries])
}
