import { Link } from 'wouter'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { formatUsd } from '../data/format.ts'
import { useAction, useLive, useMesh } from '../data/use-mesh.ts'
import { Ago, Badge, Bar, Card, Dot, Empty, Failed, Loading, PageHead } from '../design/parts.tsx'
import { drawEvent } from '../live/draw-event.ts'
import { agentTone, agentWords } from './agent-state.ts'

export function FleetPage() {
  const status = useMesh('status')
  const { data } = status
  return (
    <div className="page">
      <PageHead title="Fleet">
        {data && (
          <>
            <Badge tone={data.ready.ready ? 'ok' : 'bad'}>{data.ready.ready ? 'ready' : 'not ready'}</Badge>
            <Badge>{data.runtime.kind}</Badge>
            <FleetPause paused={data.pauses.some(({ agent_id }) => agent_id === null)} />
          </>
        )}
      </PageHead>
      {status.error && <Failed error={status.error} retry={status.refetch} />}
      {data?.ready.problems.map(({ id, detail, stops_agents }) => (
        <div key={id} className={`note ${stops_agents === false ? 'warn' : 'bad'}`}>
          <strong>{id}</strong>
          <span>{detail}</span>
        </div>
      ))}
      {status.isPending && <Loading />}
      {data && (
        <>
          <Figures data={data} />
          <div className="two">
            <Agents agents={data.agents} />
            <Activity />
          </div>
        </>
      )}
    </div>
  )
}

function Figures({
  data,
}: {
  readonly data: { readonly agents: readonly AgentView[]; readonly runs: Readonly<Record<string, number>> }
}) {
  const { agents, runs } = data
  const today = agents.reduce((sum, { cost_today_usd }) => sum + cost_today_usd, 0)
  const figures = [
    ['Agents', String(agents.filter(({ archived }) => !archived).length)],
    ['Working', String(agents.filter(({ busy }) => busy).length)],
    ['Queued', String(runs['queued'] ?? 0)],
    ['Waiting', String(runs['waiting'] ?? 0)],
    ['Spent today', formatUsd(today)],
  ] as const
  return (
    <div className="figures">
      {figures.map(([label, value]) => (
        <div key={label} className="card figure">
          <span className="small muted">{label}</span>
          <span className="value number">{value}</span>
        </div>
      ))}
    </div>
  )
}

function Agents({ agents }: { readonly agents: readonly AgentView[] }) {
  if (agents.length === 0) {
    return (
      <Empty title="There is no agent yet">
        Ask the operator for one in Chat, or run <code>npm run flotilla -- template apply starter</code>.
      </Empty>
    )
  }
  return (
    <ul className="cards" aria-label="Agents">
      {agents.map((agent) => (
        <li key={agent.id} className="card agent-card">
          <AgentCard agent={agent} />
        </li>
      ))}
    </ul>
  )
}

function AgentCard({ agent }: { readonly agent: AgentView }) {
  const restart = useAction('agentRestart', { done: `${agent.id} was started anew.`, stale: ['status'] })
  const { daily_usd } = agent.budget
  return (
    <>
      <div className="row apart">
        <div className="row clip">
          <Dot tone={agentTone(agent)} />
          <h2 className="clip">{agent.id}</h2>
        </div>
        <Badge tone={agentTone(agent)}>{agentWords(agent)}</Badge>
      </div>
      <p className="role">{agent.role}</p>
      <div className="stack">
        <div className="row apart small number">
          <span>
            {formatUsd(agent.cost_today_usd)} <span className="muted">of {formatUsd(daily_usd)} today</span>
          </span>
          <span className="muted">
            {agent.queued} queued{agent.waiting > 0 ? `, ${agent.waiting} waiting` : ''}
          </span>
        </div>
        <Bar
          part={agent.cost_today_usd / daily_usd}
          label={`Part of today’s budget of ${agent.id} that is spent`}
        />
        <span className="small muted mono clip">{agent.model}</span>
      </div>
      {agent.last_error !== null && <div className="note bad small">{agent.last_error}</div>}
      {agent.paused !== null && <div className="note warn small">Paused: {agent.paused}</div>}
      {!agent.archived && (
        <div className="row">
          <Link href={`/chat/${agent.id}`} className="button small">
            Chat<span className="hidden-words"> with {agent.id}</span>
          </Link>
          <Link href={`/runs?agent=${encodeURIComponent(agent.id)}`} className="button small">
            Runs<span className="hidden-words"> of {agent.id}</span>
          </Link>
          <button
            type="button"
            className="button small quiet"
            disabled={restart.isPending || agent.busy}
            title={agent.busy ? 'It is at work.' : undefined}
            onClick={() => restart.mutate({ params: { id: agent.id } })}
          >
            {restart.isPending ? 'Starting' : 'Start anew'}
            <span className="hidden-words"> {agent.id}</span>
          </button>
        </div>
      )}
    </>
  )
}

function FleetPause({ paused }: { readonly paused: boolean }) {
  const pause = useAction('pause', { done: 'What nobody asked for is held.', stale: ['status'] })
  const resume = useAction('resume', { done: 'Work goes on.', stale: ['status'] })
  return paused ? (
    <button
      type="button"
      className="button primary"
      onClick={() => resume.mutate({ body: { agent_id: null } })}
    >
      Resume triggers
    </button>
  ) : (
    <button
      type="button"
      className="button"
      title="Cron, heartbeats, webhooks and watchers begin nothing until you resume. People are served as always."
      onClick={() => pause.mutate({ body: { reason: 'paused in the dashboard' } })}
    >
      Pause triggers
    </button>
  )
}

const shownMax = 60

function Activity() {
  const { events } = useLive()
  const newest = events.slice(-shownMax).toReversed()
  return (
    <Card title="Activity">
      {newest.length === 0 && <Empty title="Quiet">What agents do appears here as it happens.</Empty>}
      <ul
        className="feed"
        aria-label="Newest events"
        // A part that scrolls must be reachable by keyboard.
        tabIndex={0}
      >
        {newest.map(({ seq, at, body }) => {
          const { tone, who, what, runId } = drawEvent(body)
          return (
            <li key={seq}>
              <Dot tone={tone} />
              <span className="what">
                <strong>{who}</strong>{' '}
                {runId === undefined ? what : <Link href={`/runs/${runId}`}>{what}</Link>}
              </span>
              <span className="muted">
                <Ago at={at} />
              </span>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}
