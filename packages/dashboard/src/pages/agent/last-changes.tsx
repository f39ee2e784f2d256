import { useState } from 'react'
import { Link } from 'wouter'
import type { RunView } from '@flotilla/protocol/run'
import { useMesh } from '../../data/use-mesh.ts'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { runTone } from '../../live/draw-event.ts'
import { titleOfRun } from '../describe-run-input.ts'
import { ChangedFilesOf } from '../run/changed-files-card.tsx'

const shownMax = 8

/** Lists the agent's last runs; each opens to the files that it made, changed or removed. */
export function LastChanges({ agentId }: { readonly agentId: string }) {
  const runs = useMesh('runs', { query: { agent: agentId, limit: shownMax } })
  return (
    <Card title="Changed by its last runs">
      {runs.isPending && <Loading />}
      {runs.error && <Failed error={runs.error} retry={runs.refetch} />}
      {runs.data?.runs.length === 0 && (
        <Empty title="This agent has no runs yet">
          What its runs make, change and remove is listed here.
        </Empty>
      )}
      {runs.data?.runs.map((run) => (
        <RunChanges key={run.id} run={run} />
      ))}
    </Card>
  )
}

function RunChanges({ run }: { readonly run: RunView }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="kept-row" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="clip">
        <Badge tone={runTone(run.state)}>{run.state}</Badge> {titleOfRun(run)}{' '}
        <span className="small muted">
          <Ago at={run.created_at} />
        </span>
      </summary>
      {isOpen && (
        <>
          <ChangedFilesOf run={run} />
          <Link href={`/runs/${run.id}`} className="small">
            The run
          </Link>
        </>
      )}
    </details>
  )
}
