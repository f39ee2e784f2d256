import { useState } from 'react'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { firstLine } from '../../data/first-line.ts'
import { formatCount } from '../../data/format.ts'
import { useBulk } from '../../data/use-bulk.ts'
import { useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Confirm } from '../../design/confirm.tsx'

/** From this number of open runs on, the list offers to stop them together. */
const offeredFrom = 2

/** Stops all listed runs that are still open, one after the other. */
export function StopOpenRuns({
  runs,
  about,
}: {
  readonly runs: readonly RunView[]
  /** Says what a run is about, as the list does. */
  readonly about: (run: RunView) => string
}) {
  const { client } = useServices()
  const bulk = useBulk({ thing: 'run', stale: ['runs', 'run', 'status'] })
  /** The runs when the person was asked: no run that began later is stopped. */
  const [asked, setAsked] = useState<readonly RunView[] | null>(null)
  const open = runs.filter(({ state }) => !isTerminal(state))
  const stop = (chosen: readonly RunView[]): void => {
    const items = chosen.map((run) => ({
      id: run.id,
      title: firstLine(about(run)),
      detail: run.agent_id,
    }))
    void bulk
      .carryOut(
        {
          name: 'Stop',
          past: 'stopped',
          call: 'runCancel',
          effect: '',
          why: () => null,
          run: ({ id }) => client.call('runCancel', { params: { id } }),
        },
        items,
      )
      .then(() => setAsked(null))
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
          busy={bulk.isBusy}
          onClose={() => setAsked(null)}
          onConfirm={() => stop(asked)}
        >
          <p>These runs end as cancelled. What they did so far stays.</p>
          <ul className="points" aria-label="What it is done to">
            {asked.map((run) => (
              <li key={run.id}>
                {firstLine(about(run))} <span className="small muted">{run.agent_id}</span>
              </li>
            ))}
          </ul>
        </Confirm>
      )}
    </>
  )
}
