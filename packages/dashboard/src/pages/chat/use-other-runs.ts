import { useEffect, useMemo, useRef } from 'react'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { useMesh, useServices } from '../../data/use-mesh.ts'
import { isOpenTurn } from './turn.ts'
import type { Turn } from './turn.ts'

const none: readonly RunView[] = []
/** Number of newest runs of the agent to request. */
export const runsListed = 200

/** Runs of a conversation that this page did not start: older ones, and those started elsewhere. */
export interface OtherRuns {
  /** All runs of the conversation, newest first. */
  readonly all: readonly RunView[]
  /** All runs of the conversation; undefined until they are loaded. */
  readonly loaded: readonly RunView[] | undefined
  /** The newest runs of the agent in all of its conversations, newest first. */
  readonly ofAgent: readonly RunView[]
  /** The run that is still active. */
  readonly open: RunView | undefined
}

/** Follows runs of the conversation that were started elsewhere; when one ends, the history is loaded again. */
export function useOtherRuns(agent: string, session: string, turns: readonly Turn[]): OtherRuns {
  const { queries } = useServices()
  const runs = useMesh('runs', { query: { agent, limit: runsListed } })
  const { data } = runs
  const all = useMemo(
    () => (data?.runs ?? []).filter(({ input }) => input.kind === 'chat' && input.session === session),
    [data, session],
  )
  const own = new Set(turns.map(({ runId }) => runId))
  const others = all.filter(({ id }) => !own.has(id))
  // While a turn is being sent, the page does not know the run's id, so an unknown run may be its own.
  const isSending = turns.some(({ state }) => state === 'sending')
  const isBusy = turns.some(isOpenTurn)
  const ended = others.find(({ state }) => isTerminal(state))?.id
  const known = useRef<string | undefined>(undefined)
  const isRead = runs.isSuccess
  useEffect(() => {
    if (!isRead || isBusy) return
    const before = known.current
    known.current = ended ?? ''
    if (before === undefined || ended === undefined || before === ended) return
    void queries.invalidateQueries({ queryKey: ['chatHistory', { id: agent }] })
  }, [isRead, isBusy, ended, agent, session, queries])
  return {
    all,
    ofAgent: data?.runs ?? none,
    loaded: isRead ? all : undefined,
    open: isSending ? undefined : others.find(({ state }) => !isTerminal(state)),
  }
}
