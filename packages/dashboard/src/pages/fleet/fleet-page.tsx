import { useState } from 'react'
import { Link } from 'wouter'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { formatUsd } from '../../data/format.ts'
import { useChoice } from '../../data/use-choice.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Badge, Empty, Failed, Loading, PageHead } from '../../design/parts.tsx'
import { agentWords } from '../agent-state.ts'
import { Activity } from './activity.tsx'
import { AgentCards } from './agent-cards.tsx'
import { CreateAgent } from './create-agent.tsx'
import { SeveralAgents } from './several-agents.tsx'
import { usePoll } from './use-poll.ts'
import '../../design/agent.css'

export function FleetPage() {
  const status = useMesh('status')
  const { data } = status
  const [{ new: made }, choose] = useChoice(['new'])
  const [isChoosing, setChoosing] = useState(false)
  const setCreating = (isOpen: boolean) => choose('new', isOpen ? 'agent' : '')
  return (
    <div className="page">
      <PageHead title="Fleet">
        {data && (
          <>
            <Badge tone={data.ready.ready ? 'ok' : 'bad'}>{data.ready.ready ? 'ready' : 'not ready'}</Badge>
            <Badge>{data.runtime.kind}</Badge>
            <Act call="agentCreate" className="button primary" onClick={() => setCreating(true)}>
              New agent …
            </Act>
            {data.agents.length > 2 && (
              <Act call="pause" className="button" onClick={() => setChoosing(true)}>
                Several agents …
              </Act>
            )}
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
      {data?.notices.map((notice) => (
        <div key={notice} className="note warn">
          <strong>Without effect</strong>
          <span>{notice}.</span>
        </div>
      ))}
      {data?.wallet_halt && (
        <div className="note warn">
          <strong>The wallet signs no payments</strong>
          <span>{data.wallet_halt.reason}.</span>
          <span>
            Go on at the page <Link href="/wallet">Wallet</Link>, or with <code>{data.wallet_halt.next}</code>
            .
          </span>
        </div>
      )}
      {status.isPending && <Loading />}
      {data && (
        <>
          <Figures data={data} />
          <div className="two">
            <Agents agents={data.agents} />
            <div className="in-view">
              <Activity />
            </div>
          </div>
        </>
      )}
      {data && isChoosing && (
        <SeveralAgents agents={data.agents} pauses={data.pauses} onClose={() => setChoosing(false)} />
      )}
      {made === 'agent' && <CreateAgent onClose={() => setCreating(false)} />}
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
    <div className="figures counts">
      {figures.map(([label, value]) => (
        <div key={label} className="card figure">
          <span className="small muted">{label}</span>
          <span className="value number">{value}</span>
        </div>
      ))}
    </div>
  )
}

/** From this number of agents on, the page has a search field. */
const searchedFrom = 12

function matches(agent: AgentView, search: string): boolean {
  const text = [agent.id, agent.role, agentWords(agent), agent.model].join('\n')
  return search === '' || text.toLowerCase().includes(search)
}

function Agents({ agents }: { readonly agents: readonly AgentView[] }) {
  const uses = usePoll().data?.agents ?? []
  const useOf = (id: string) => uses.find((use) => use.agent_id === id)
  const [{ find }, choose] = useChoice(['find'])
  const there = agents.filter(({ archived }) => !archived)
  const archived = agents.filter((agent) => agent.archived)
  const shown = there.filter((agent) => matches(agent, find.trim().toLowerCase()))
  return (
    <div className="stack">
      {there.every(({ kind }) => kind === 'operator') && (
        <section className="card" aria-label="No worker yet">
          <Empty title="There is no worker yet">
            An agent works autonomously on what you ask. Create one by hand, or a whole fleet from a template,
            with New agent above; or ask the operator in Chat to create agents.
          </Empty>
        </section>
      )}
      {(there.length > searchedFrom || find !== '') && (
        <input
          className="input"
          type="search"
          placeholder="Name, role, state or model"
          aria-label="Search agents"
          value={find}
          onChange={(event) => choose('find', event.target.value)}
        />
      )}
      <AgentCards agents={shown} useOf={useOf} label="Agents" />
      {shown.length === 0 && find !== '' && (
        <Empty title="No agent matches">Try other words, or clear the search.</Empty>
      )}
      {archived.length > 0 && (
        <details>
          <summary className="muted">Archived ({archived.length})</summary>
          <div className="archived">
            <AgentCards agents={archived} useOf={() => undefined} label="Archived agents" />
          </div>
        </details>
      )}
    </div>
  )
}

function FleetPause({ paused }: { readonly paused: boolean }) {
  const pause = useAction('pause', { done: 'Triggers are paused.', stale: ['status'] })
  const resume = useAction('resume', { done: 'Triggers are resumed.', stale: ['status'] })
  return paused ? (
    <Act call="resume" className="button" onClick={() => resume.mutate({ body: { agent_id: null } })}>
      Resume triggers
    </Act>
  ) : (
    <Act
      call="pause"
      className="button"
      title="Cron jobs, heartbeats, webhooks and watchers start nothing until you resume. Chats work as usual."
      onClick={() => pause.mutate({ body: { reason: 'paused in the dashboard' } })}
    >
      Pause triggers
    </Act>
  )
}
