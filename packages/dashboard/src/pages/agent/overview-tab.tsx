import { useState } from 'react'
import { Link } from 'wouter'
import { cacheHitRate, hasCacheUse } from '@flotilla/protocol/money-api'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { formatShare, formatTokens, formatUsd } from '../../data/format.ts'
import { useMesh, useRefusal } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Ago, Card, Failed, HowLong, Loading } from '../../design/parts.tsx'
import { BudgetPeriod } from '../budget-period.tsx'
import { EditAgent } from '../fleet/edit-agent.tsx'
import { LifeButtons } from '../fleet/life-buttons.tsx'
import { usePoll } from '../fleet/use-poll.ts'
import { AnswersCard } from './answers-card.tsx'
import { BrowserCard } from './browser-card.tsx'
import { ResourcesCard } from './resources-card.tsx'
import { UseLines } from './use-lines.tsx'

export function OverviewTab({ agent }: { readonly agent: AgentView }) {
  const [editing, setEditing] = useState(false)
  const use = usePoll().data?.agents.find((one) => one.agent_id === agent.id)
  const mayEdit = useRefusal({ call: 'agentConfig', agent: agent.id }) === null
  const config = useMesh('agentConfig', { params: { id: agent.id } }, { enabled: mayEdit })
  return (
    <>
      {agent.last_error !== null && <div className="note bad">{agent.last_error}</div>}
      {agent.waits_for !== null && <div className="note warn">{agent.waits_for}</div>}
      {agent.paused !== null && <div className="note warn">Paused: {agent.paused}</div>}
      <div className="halves">
        <div className="stack">
          <Card title="Now">
            <div className="body stack">
              <dl className="facts">
                <dt>State</dt>
                <dd>
                  {agent.state}
                  {agent.state_since !== null && (
                    <span className="muted">
                      {' '}
                      for <HowLong since={agent.state_since} />
                    </span>
                  )}
                </dd>
                <dt>Run</dt>
                <dd>
                  {use?.run_id == null ? (
                    <span className="muted">none</span>
                  ) : (
                    <Link href={`/runs/${use.run_id}`} className="mono">
                      {use.run_id}
                    </Link>
                  )}
                </dd>
                <dt>Isolation</dt>
                <dd>
                  <Isolation isolation={agent.isolation} isRunning={agent.state === 'running'} />
                </dd>
                <dt>Queue</dt>
                <dd className="number">
                  {agent.queued + agent.waiting === 0 ? (
                    <span className="muted">empty</span>
                  ) : (
                    `${agent.queued} queued, ${agent.waiting} waiting`
                  )}
                </dd>
              </dl>
              <UseLines agent={agent} use={use} />
              <LifeButtons agent={agent} />
            </div>
          </Card>
          <ResourcesCard agent={agent} use={use} />
          {config.data && (
            <BrowserCard
              agentId={agent.id}
              // A person who may not see the permissions learns from the browser's own call whether they may use it.
              may={config.data.permissions === undefined || config.data.permissions?.can_use_browser === true}
            />
          )}
        </div>
        <div className="stack">
          <Card
            title="Settings"
            more={
              <Act
                call="agentEdit"
                agent={agent.id}
                className="button small"
                onClick={() => setEditing(true)}
              >
                Edit …
              </Act>
            }
          >
            <div className="body stack">
              <dl className="facts">
                <dt>Role</dt>
                <dd className="plain-text">{agent.role}</dd>
                <dt>Model</dt>
                <dd>
                  <span className="mono">{agent.model}</span>
                  {config.data?.model === null && <span className="muted"> the fleet’s default</span>}
                </dd>
                <dt>Kind</dt>
                <dd>{agent.kind}</dd>
                {config.data && config.data.project !== null && (
                  <>
                    <dt>Project</dt>
                    <dd>{config.data.project}</dd>
                  </>
                )}
                {config.data && (
                  <>
                    <dt>Created</dt>
                    <dd>
                      <Ago at={config.data.created_at} />
                    </dd>
                  </>
                )}
              </dl>
            </div>
          </Card>
          <AnswersCard agentId={agent.id} />
          <Budget agentId={agent.id} />
          <CacheUse agentId={agent.id} />
          <ReportedTokens agentId={agent.id} />
        </div>
      </div>
      {editing && <EditAgent agent={agent} onClose={() => setEditing(false)} />}
    </>
  )
}

function Isolation({
  isolation: { wanted, required, runs_on: runsOn, fallback },
  isRunning,
}: {
  readonly isolation: AgentView['isolation']
  readonly isRunning: boolean
}) {
  // With a runtime that does not isolate, a running agent has no isolation level.
  if (isRunning && runsOn === null) return <>none: a plain process of this machine</>
  return (
    <>
      {runsOn ?? wanted}
      {runsOn === null && <span className="muted"> once it runs</span>}
      {required !== 'container' && <span className="muted">, {required} required</span>}
      {fallback !== null && (
        <div className="small">
          {runsOn !== null && `The chosen level is ${wanted}. `}
          {fallback}
        </div>
      )}
    </>
  )
}

function Budget({ agentId }: { readonly agentId: string }) {
  const budgets = useMesh('budgets')
  const all = budgets.data?.budgets ?? []
  const own = all.find(({ scope, id }) => scope === 'agent' && id === agentId)
  const shared = all.filter(
    ({ scope, id }) => scope === 'fleet' || (scope === 'project' && own?.project === id),
  )
  return (
    <Card title="Budget">
      {budgets.isPending && <Loading />}
      {budgets.error && <Failed error={budgets.error} retry={budgets.refetch} />}
      <div className="body stack">
        {[...(own ? [own] : []), ...shared].map((budget) => (
          <div key={`${budget.scope}:${budget.id}`} className="budget">
            <h3>
              {budget.scope === 'agent'
                ? 'Its own'
                : budget.scope === 'fleet'
                  ? 'The whole fleet'
                  : `Project ${budget.id}`}
            </h3>
            <BudgetPeriod name="Today" whose={budget.id || 'the fleet'} period={budget.daily} />
            <BudgetPeriod name="This month" whose={budget.id || 'the fleet'} period={budget.monthly} />
          </div>
        ))}
      </div>
    </Card>
  )
}

const costDays = 30

function useCosts(agentId: string) {
  const report = useMesh('costReport', { query: { by: 'agent', days: costDays } })
  return report.data?.rows.find(({ key }) => key === agentId)
}

/** Shows the tokens of calls that did not go through the mesh; nothing if the harness reported none. */
function ReportedTokens({ agentId }: { readonly agentId: string }) {
  const row = useCosts(agentId)
  if (!row || row.reported_tokens === 0) return null
  return (
    <Card title="Outside of the mesh" more={<span className="small muted">{costDays} days</span>}>
      <div className="body">
        <dl className="facts">
          <dt>Tokens</dt>
          <dd className="number">{formatTokens(row.reported_tokens)}, reported by the harness, unpriced</dd>
        </dl>
      </div>
    </Card>
  )
}

/** Shows what the providers' prompt caches saved for this agent; nothing if it used no cache. */
function CacheUse({ agentId }: { readonly agentId: string }) {
  const row = useCosts(agentId)
  if (!row || !hasCacheUse(row)) return null
  return (
    <Card title="Prompt cache" more={<span className="small muted">{costDays} days</span>}>
      <div className="body">
        <dl className="facts">
          <dt>Hit rate</dt>
          <dd className="number">{formatShare(cacheHitRate(row))} of the tokens read</dd>
          <dt>Saved by cache</dt>
          <dd className="number">{formatUsd(row.cache.saved_usd)}</dd>
        </dl>
      </div>
    </Card>
  )
}
