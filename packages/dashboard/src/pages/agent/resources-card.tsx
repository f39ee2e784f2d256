import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { AgentUse } from '@flotilla/protocol/kept-api'
import { formatBytes } from '../../data/format.ts'
import { Ago, Bar, Card } from '../../design/parts.tsx'
import { Packages } from './packages-part.tsx'
import { proposeMemoryMb } from './propose-size.ts'

/** The size of an agent against its use in the last hour, and the packages in its image. */
export function ResourcesCard({
  agent,
  use,
}: {
  readonly agent: AgentView
  readonly use: AgentUse | undefined
}) {
  return (
    <Card title="Size and packages">
      <div className="body stack">
        <Size agent={agent} use={use} />
        <Packages agentId={agent.id} />
      </div>
    </Card>
  )
}

function Size({ agent, use }: { readonly agent: AgentView; readonly use: AgentUse | undefined }) {
  const peak = use?.last_hour ?? null
  const limit = use?.memory_limit_bytes ?? null
  if (peak === null)
    return (
      <p className="muted">
        No use was measured in the last hour. It is measured while the agent runs and a page such as this one
        is open.
      </p>
    )
  const proposed =
    limit === null ? null : proposeMemoryMb({ peakBytes: peak.memory_bytes, limitBytes: limit })
  return (
    <div className="stack tight">
      <div className="meters">
        <div className="meter-row small number">
          <span className="muted">Memory</span>
          {limit === null ? (
            <span />
          ) : (
            <Bar
              part={peak.memory_bytes / limit}
              label={`Highest part of the memory that ${agent.id} took`}
            />
          )}
          <span>
            {formatBytes(peak.memory_bytes)}
            {limit === null ? ', no limit' : ` of ${formatBytes(limit)}`}
          </span>
        </div>
        <div className="meter-row small number">
          <span className="muted">CPU</span>
          {peak.cpu_percent === null ? (
            <span />
          ) : (
            <Bar
              part={peak.cpu_percent / 100}
              label={`Highest part of one processor that ${agent.id} took`}
            />
          )}
          <span>{peak.cpu_percent === null ? '–' : `${peak.cpu_percent.toFixed(0)} % of one`}</span>
        </div>
      </div>
      <p className="small muted">
        Highest values since <Ago at={peak.since} />, at most an hour, measured while a page such as this one
        was open.
      </p>
      {proposed !== null && (
        <p className="note small">
          <span>
            Proposed size: {proposed} MB of memory. Set <code>agents.{agent.id}.size.memory_mb</code> to{' '}
            {proposed} in <code>config/settings.json</code>.
          </span>
        </p>
      )}
    </div>
  )
}
