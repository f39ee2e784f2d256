import { useState } from 'react'
import type { HeartbeatView } from '@flotilla/protocol/heartbeat-api'
import { useAction, useMesh, useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { HeartbeatSaw } from '../heartbeat-saw.tsx'
import { HeartbeatForm } from './heartbeat-form.tsx'
import { JobHistory } from './job-history.tsx'
import { formatSchedule } from './format-schedule.ts'

/** Shows the schedule of each heartbeat, and why the last one was skipped. */
export function Heartbeats() {
  const heartbeats = useMesh('heartbeats')
  const jobs = useMesh('cronJobs')
  const [shown, setShown] = useState<string | null>(null)
  /** The agent whose heartbeat is being edited. */
  const [changing, setChanging] = useState<string | null>(null)
  const jobOf = (agent: string) => jobs.data?.jobs.find((job) => job.heartbeat && job.agent === agent)?.id
  return (
    <Card title="Heartbeats">
      {heartbeats.isPending && <Loading />}
      {heartbeats.error && <Failed error={heartbeats.error} retry={heartbeats.refetch} />}
      {heartbeats.data?.heartbeats.length === 0 && (
        <Empty title="No agent yet">
          An agent with a heartbeat checks regularly whether anything needs work.
        </Empty>
      )}
      {heartbeats.data && heartbeats.data.heartbeats.length > 0 && (
        <Table label="Table of heartbeats" columns={['Agent', 'Schedule', 'Last']} hasActions>
          {heartbeats.data.heartbeats.map((heartbeat) => (
            <HeartbeatRow
              key={heartbeat.agent_id}
              heartbeat={heartbeat}
              jobId={jobOf(heartbeat.agent_id)}
              open={shown === heartbeat.agent_id}
              onChange={() => setChanging(heartbeat.agent_id)}
              onToggle={() => setShown(shown === heartbeat.agent_id ? null : heartbeat.agent_id)}
            />
          ))}
        </Table>
      )}
      {changing !== null && (
        <HeartbeatForm
          key={changing}
          agentId={changing}
          schedule={
            heartbeats.data?.heartbeats.find((heartbeat) => heartbeat.agent_id === changing)?.schedule ?? null
          }
          onClose={() => setChanging(null)}
        />
      )}
    </Card>
  )
}

function HeartbeatRow({
  heartbeat: { agent_id: agent, schedule, locked, archived, last },
  jobId,
  open,
  onChange,
  onToggle,
}: {
  readonly heartbeat: HeartbeatView
  /** The id of the heartbeat's job; undefined if there is no job. */
  readonly jobId: string | undefined
  readonly open: boolean
  readonly onChange: () => void
  readonly onToggle: () => void
}) {
  const stale = ['heartbeats', 'cronJobs', 'cronHistory'] as const
  const run = useAction('heartbeatRun', { done: `The heartbeat of ${agent} ran.`, stale: [...stale, 'runs'] })
  const { client } = useServices()
  const set = (next: string | null) =>
    client.call('heartbeatSet', { params: { id: agent }, body: { schedule: next } })
  const pause = useAction('heartbeatSet', {
    done: `The heartbeat of ${agent} is off.`,
    stale,
    undo: () => ({
      by: 'heartbeatSet',
      run: () => set(schedule),
      done: `The change of the heartbeat of ${agent} is undone.`,
    }),
  })
  return (
    <>
      <tr>
        <td>{agent}</td>
        <td data-label="Schedule">
          {schedule === null ? <span className="muted">off</span> : formatSchedule(schedule)}{' '}
          {locked && <Badge>fixed</Badge>}
        </td>
        <td data-label="Last">
          {last === null && <span className="muted">never</span>}
          {last && <HeartbeatSaw fire={last} />}
        </td>
        <td className="trigger-buttons">
          <div className="row">
            {!archived && (
              <Act
                call="heartbeatRun"
                agent={agent}
                className="button small"
                disabled={run.isPending}
                onClick={() => run.mutate({ params: { id: agent }, body: {} })}
              >
                {run.isPending ? 'Running …' : 'Run now'}
                <span className="hidden-words"> {agent}</span>
              </Act>
            )}
            {!locked && !archived && (
              <Act call="heartbeatSet" agent={agent} className="button small" onClick={onChange}>
                Change …<span className="hidden-words"> {agent}</span>
              </Act>
            )}
            {!locked && schedule !== null && (
              <Act
                call="heartbeatSet"
                agent={agent}
                className="button small"
                disabled={pause.isPending}
                onClick={() => pause.mutate({ params: { id: agent }, body: { schedule: null } })}
              >
                Stop<span className="hidden-words"> {agent}</span>
              </Act>
            )}
            {jobId !== undefined && (
              <button type="button" className="button small quiet" aria-expanded={open} onClick={onToggle}>
                Why and when<span className="hidden-words"> {agent}</span>
              </button>
            )}
          </div>
        </td>
      </tr>
      {open && jobId !== undefined && (
        <tr>
          <td colSpan={4}>
            <JobHistory id={jobId} />
          </td>
        </tr>
      )}
    </>
  )
}
