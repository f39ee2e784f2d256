import { useCallback, useEffect, useRef, useState } from 'react'
import type { RunView } from '@flotilla/protocol/run'
import type { SteerView } from '@flotilla/protocol/steer'
import { useMesh } from '../../data/use-mesh.ts'
import { isOwnSteer } from './own-steer.ts'

/** A text for the input field. Each one is a new object, so that the same text can be added twice. */
export interface Put {
  readonly text: string
}

/**
 * Returns the text that goes back into the input field: messages to a run that was stopped before its agent read
 * them. Messages that were returned before the page opened stay in the conversation, where a button puts them back.
 */
export function useReturned(runs: readonly RunView[] | undefined): {
  readonly put: Put | null
  readonly putBack: (text: string) => void
} {
  const me = useMesh('me').data
  const seen = useRef<Set<string> | null>(null)
  const [put, setPut] = useState<Put | null>(null)
  useEffect(() => {
    if (runs === undefined || me === undefined) return
    const known = seen.current
    const now = runs.flatMap(returnedOf)
    seen.current = new Set(now.map(({ id }) => id))
    if (known === null) return
    const mine = now.filter((steer) => !known.has(steer.id) && isOwnSteer(steer, me))
    if (mine.length > 0) setPut({ text: mine.map(({ text }) => text).join('\n') })
  }, [runs, me])
  const putBack = useCallback((text: string) => setPut({ text }), [])
  return { put, putBack }
}

/** Returns the messages of people that the agent had not read when the run was stopped. Pure. */
export function returnedOf({ steers }: Pick<RunView, 'steers'>): readonly SteerView[] {
  return (steers ?? []).filter(({ state }) => state === 'returned')
}
