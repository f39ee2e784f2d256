import type { BudgetView } from '@flotilla/protocol/money-api'
import { formatUsd } from '../data/format.ts'
import { Bar } from '../design/parts.tsx'

/** What is spent of a budget in a day or a month, with what is set aside for calls under way. */
export function BudgetPeriod({
  name,
  whose,
  period: { limit_usd: limit, spent_usd: spent, reserved_usd: reserved },
}: {
  readonly name: string
  readonly whose: string
  readonly period: BudgetView['daily']
}) {
  return (
    <div className="period">
      <div className="row apart small number">
        <span className="muted">{name}</span>
        <span>
          {formatUsd(spent)}
          {reserved > 0 && <span className="muted"> and {formatUsd(reserved)} set aside</span>}
          <span className="muted"> {limit === null ? 'without a limit' : `of ${formatUsd(limit)}`}</span>
        </span>
      </div>
      {limit !== null && (
        <Bar part={limit === 0 ? 1 : (spent + reserved) / limit} label={`${name}, ${whose}`} />
      )}
    </div>
  )
}
