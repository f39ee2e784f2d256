import { useEffect, useRef } from 'react'
import { systemClock } from '@flotilla/client/system-clock'
import type { ChatHistory } from '@flotilla/protocol/chat-history'
import type { RunView } from '@flotilla/protocol/run'
import { useMesh } from '../../data/use-mesh.ts'
import { newestEnded } from './shown-turns.ts'
import type { Turn } from './turn.ts'

/** Number of earlier messages that are shown. */
const pastMessages = 200
/**
 * How often the page requests the end of a stopped run, which the agent writes after the mesh has ended the run, and
 * for how long, in milliseconds.
 */
const askEndEveryMs = 1000
const askEndForMs = 8000

/** Returns the conversation as the agent stores it; it is loaded again until it contains the newest ended run. */
export function useHistory(
  agent: string,
  session: string,
  { turns, runs }: { readonly turns: readonly Turn[]; readonly runs: readonly RunView[] },
) {
  const ended = newestEnded(turns, runs)
  const since = useRef({ ended: '', at: 0 })
  useEffect(() => {
    if (since.current.ended !== ended) since.current = { ended, at: systemClock.now() }
  }, [ended])
  return useMesh(
    'chatHistory',
    { params: { id: agent }, query: { session, limit: pastMessages } },
    {
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: Number.POSITIVE_INFINITY,
      refetchInterval: ({ state }) =>
        ended === '' || hasRun(state.data as ChatHistory | undefined, ended) || isOld(since.current, ended)
          ? false
          : askEndEveryMs,
    },
  )
}

function hasRun(history: ChatHistory | undefined, runId: string): boolean {
  return history === undefined || history.messages.some(({ run_id: id }) => id === runId)
}

function isOld({ ended, at }: { readonly ended: string; readonly at: number }, now: string): boolean {
  return ended === now && systemClock.now() - at > askEndForMs
}
