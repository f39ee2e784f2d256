import { useState } from 'react'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { formatCount } from '../../data/format.ts'
import { runEach } from '../../data/run-each.ts'
import { useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Confirm } from '../../design/confirm.tsx'

/** From this number of open runs on, the list offers to stop them together. */
const offeredFrom = 2

/** Stops all listed runs that are still open, one after the other. */
export function StopOpenRuns({ runs }: { readonly runs: readonly RunView[] }) {
  const { client, queries, toasts, proofs } = useServices()
  /** The runs when the person was asked: no run that began later is stopped. */
  const [asked, setAsked] = useState<readonly RunView[] | null>(null)
  const [busy, setBusy] = useState(false)
  const open = runs.filter(({ state }) => !isTerminal(state))

  async function stop(chosen: readonly RunView[]): Promise<void> {
    setBusy(true)
    // A run that has ended meanwhile must not keep the others running.
    const { done, failures } = await runEach(chosen, {
      proofs,
      call: 'runCancel',
      run: ({ id }) => client.call('runCancel', { params: { id } }),
    })
    setBusy(false)
    setAsked(null)
    void queries.invalidateQueries({ queryKey: ['runs'] })
    if (done.length > 0) toasts.tell(`${formatCount(done.length, 'run')} stopped.`)
    if (failures[0] !== undefined) toasts.fail(failures[0].error)
  }

  return (
    <>
      {open.length >= offeredFrom && (
        <Act call="runCancel" className="button" onClick={() => setAsked(open)}>
          Stop {open.length} open runs …
        </Act>
      )}
      {asked !== null && (
        <Confirm
          title={`Stop ${formatCount(asked.length, 'run')}?`}
          action={`Stop ${formatCount(asked.length, 'run')}`}
          busy={busy}
          onClose={() => setAsked(null)}
          onConfirm={() => void stop(asked)}
        >
          Runs of {[...new Set(asked.map(({ agent_id: id }) => id))].join(', ')} end as cancelled. What they
          did so far stays.
        </Confirm>
      )}
    </>
  )
}
