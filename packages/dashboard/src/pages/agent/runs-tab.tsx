import { upTo } from '@flotilla/protocol/up-to'
import { isTerminal } from '@flotilla/protocol/run'
import { Link } from 'wouter'
import { firstLine } from '../../data/first-line.ts'
import { formatDuration, formatUsd } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { useNow } from '../../data/use-now.ts'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { runTone } from '../../live/draw-event.ts'
import { titleOfRun } from '../describe-run-input.ts'
import { NextStepLine } from '../next-step-line.tsx'

const listed = 30

export function RunsTab({ agentId }: { readonly agentId: string }) {
  const runs = useMesh('runs', { query: { agent: agentId, limit: listed } })
  const now = useNow()
  return (
    <Card
      title="Runs"
      more={
        <Link href={`/runs?agent=${encodeURIComponent(agentId)}`} className="small">
          All its runs
        </Link>
      }
    >
      {runs.isPending && <Loading />}
      {runs.error && <Failed error={runs.error} retry={runs.refetch} />}
      {runs.data?.runs.length === 0 && (
        <Empty title="This agent has no runs yet">
          Everything that an agent does is a run. Ask the agent something in Chat.
        </Empty>
      )}
      {runs.data && runs.data.runs.length > 0 && (
        <Table
          label="Table of runs"
          columns={['State', 'Asked', 'From', { right: 'Took' }, { right: 'Cost' }, { right: 'When' }]}
        >
          {runs.data.runs.map((run) => (
            <tr key={run.id}>
              <td>
                <Badge tone={runTone(run.state)}>{run.state}</Badge>
              </td>
              <td>
                <Link href={`/runs/${run.id}`}>{firstLine(titleOfRun(run))}</Link>
                {!isTerminal(run.state) && (
                  <div className="small muted next-step">
                    <NextStepLine run={run} ahead={runs.data.runs.find(({ state }) => state === 'running')} />
                  </div>
                )}
              </td>
              <td className="muted">{run.origin.kind}</td>
              <td className="right number muted" data-label="Took">
                {run.started_at === null ? '–' : formatDuration((run.ended_at ?? now) - run.started_at)}
              </td>
              <td className="right number" data-label="Cost">
                {upTo(formatUsd(run.cost_usd), run.unconfirmed_usd)}
              </td>
              <td className="right muted">
                <Ago at={run.created_at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  )
}
