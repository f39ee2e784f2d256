import { useState } from 'react'
import type { PeopleEndpointName } from '@flotilla/client/people-api'
import type { BulkAction } from './bulk-action.ts'
import { formatCount } from './format.ts'
import { runEach } from './run-each.ts'
import { useServices } from './use-mesh.ts'
import { withProof } from './with-proof.ts'

export interface Bulk {
  /** What the items are, such as `agent`. */
  readonly thing: string
  /** The answers that the actions make outdated. */
  readonly stale: readonly PeopleEndpointName[]
}

/** Carries out an action on several items, reports the result, and offers to undo it where that is possible. */
export function useBulk<Item>({ thing, stale }: Bulk) {
  const { queries, toasts, proofs } = useServices()
  const [isBusy, setBusy] = useState(false)
  const makeStale = (): void => {
    for (const name of stale) void queries.invalidateQueries({ queryKey: [name] })
  }
  async function carryOut(action: BulkAction<Item>, items: readonly Item[]): Promise<void> {
    setBusy(true)
    const { done, failures } = await runEach(items, (item) =>
      withProof(proofs, action.call, () => action.run(item)),
    )
    setBusy(false)
    makeStale()
    const { undo } = action
    const takeBack =
      undo &&
      (async (): Promise<string> => {
        const back = await runEach(done, (item) => withProof(proofs, undo.call, () => undo.run(item)))
        makeStale()
        if (back.failures.length > 0) toasts.fail(back.failures[0])
        return `${formatCount(back.done.length, thing)} ${undo.past}.`
      })
    if (done.length > 0) toasts.tell(`${formatCount(done.length, thing)} ${action.past}.`, takeBack)
    if (failures.length > 0) toasts.fail(failures[0])
  }
  return { isBusy, carryOut }
}
