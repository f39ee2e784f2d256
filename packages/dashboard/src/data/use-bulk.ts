import { useState } from 'react'
import type { PeopleEndpointName } from '@flotilla/client/people-api'
import type { BulkAction, BulkItem } from './bulk-action.ts'
import { describeDone, describeFailures, runEach } from './run-each.ts'
import type { EachEnd } from './run-each.ts'
import { useServices } from './use-mesh.ts'

export interface Bulk {
  /** What the items are, such as `agent`. */
  readonly thing: string
  /** The answers that the actions make outdated. */
  readonly stale: readonly PeopleEndpointName[]
}

/** Carries out an action on several items, reports the result, and offers to undo it where that is possible. */
export function useBulk<Item extends BulkItem>({ thing, stale }: Bulk) {
  const { queries, toasts, proofs } = useServices()
  const [isBusy, setBusy] = useState(false)
  const makeStale = (): void => {
    for (const name of stale) void queries.invalidateQueries({ queryKey: [name] })
  }
  const reportFailures = (end: EachEnd<Item>, begin = ''): void => {
    const words = describeFailures(end, thing)
    if (words !== null) toasts.fail(end.failures[0]?.error, `${begin}${words}`)
  }
  async function carryOut(action: BulkAction<Item>, items: readonly Item[]): Promise<void> {
    setBusy(true)
    const end = await runEach(items, { ...action, proofs })
    setBusy(false)
    makeStale()
    const { undo } = action
    const takeBack =
      undo &&
      (async (): Promise<string | null> => {
        const back = await runEach(end.done, { ...undo, proofs })
        makeStale()
        reportFailures(back, 'Undo: ')
        return describeDone(back, { thing, past: undo.past })
      })
    const told = describeDone(end, { thing, past: action.past })
    if (told !== null) toasts.tell(told, takeBack)
    reportFailures(end)
  }
  return { isBusy, carryOut }
}
