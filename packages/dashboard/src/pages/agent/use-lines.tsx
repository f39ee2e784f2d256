import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { AgentUse } from '@flotilla/protocol/kept-api'
import { formatBytes, formatTokens, formatUsd } from '../../data/format.ts'
import { Bar } from '../../design/parts.tsx'

/** What an agent uses: money, context, memory, processor; an unknown value is a dash. */
export function UseLines({ agent, use }: { readonly agent: AgentView; readonly use: AgentUse | undefined }) {
  const { cost_today_usd: cost, budget } = agent
  const context = use?.context_tokens ?? null
  const window = use?.context_window ?? null
  const memory = use?.memory_bytes ?? null
  const limit = use?.memory_limit_bytes ?? null
  const cpu = use?.cpu_percent ?? null
  return (
    <div className="meters">
      <Line
        name="Cost"
        part={cost / budget.daily_usd}
        value={`${formatUsd(cost)} of ${formatUsd(budget.daily_usd)}`}
        label={`Part of today’s budget of ${agent.id} that is spent`}
      />
      <Line
        name="Context"
        part={context === null || window === null ? null : context / window}
        value={
          context === null
            ? '–'
            : window === null
              ? `${formatTokens(context)} tokens`
              : `${formatTokens(context)} of ${formatTokens(window)}`
        }
        label={`Part of the context of ${agent.id} that its last call filled`}
      />
      <Line
        name="Memory"
        part={memory === null || limit === null ? null : memory / limit}
        value={
          memory === null
            ? '–'
            : limit === null
              ? formatBytes(memory)
              : `${formatBytes(memory)} of ${formatBytes(limit)}`
        }
        label={`Part of the memory of ${agent.id} that is taken`}
      />
      <Line
        name="CPU"
        part={cpu === null ? null : cpu / 100}
        value={cpu === null ? '–' : `${cpu.toFixed(cpu < 10 ? 1 : 0)} %`}
        label={`Part of one processor that ${agent.id} takes`}
      />
    </div>
  )
}

function Line({
  name,
  part,
  value,
  label,
}: {
  readonly name: string
  readonly part: number | null
  readonly value: string
  readonly label: string
}) {
  return (
    <div className="meter-row small number">
      <span className="muted">{name}</span>
      {part === null ? <span /> : <Bar part={part} label={label} />}
      <span>{value}</span>
    </div>
  )
}
