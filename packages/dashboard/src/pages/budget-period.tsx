import type { BudgetView } from '@flotilla/protocol/money-api'
import { formatUsd } from '../data/format.ts'
import { Bar } from '../design/parts.tsx'

/** Shows what a budget has spent in a day or a month, and what is reserved for calls in progress. */
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
