import { Link } from 'wouter'
import type { WalletLimits } from '@flotilla/protocol/wallet-payments'
import { formatUsd } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Badge, Bar, Card, Empty, Failed, Loading } from '../../design/parts.tsx'

type Spent = WalletLimits['agents'][number]

/** Shows the payment limits of each agent, and how much is used. */
export function PaymentLimits() {
  const limits = useMesh('walletLimitsNow')
  const { data } = limits
  return (
    <Card title="Limits">
      {limits.isPending && <Loading />}
      {limits.error && <Failed error={limits.error} retry={limits.refetch} />}
      {data?.agents.length === 0 && (
        <Empty title="No agent has an address yet">
          <code>flotilla wallet addresses AGENT</code> assigns one to an agent permanently.
        </Empty>
      )}
      {data && data.agents.length > 0 && (
        <>
          <ul className="body halves">
            {data.agents.map((agent) => (
              <OfAgent key={agent.agent_id} agent={agent} />
            ))}
          </ul>
          <p className="body small muted">
            A day begins at 00:00 UTC. A person must approve payments above{' '}
            {formatUsd(data.approve_above_usd)}, the first payment to an address, permissions to take all of a
            token, and tokens that imitate a known one.
          </p>
        </>
      )}
    </Card>
  )
}

function OfAgent({ agent }: { readonly agent: Spent }) {
  const { agent_id: id, may, chains, contracts } = agent
  return (
    <li className="stack">
      <div className="row apart">
        <h3>
          <Link href={`/agents/${encodeURIComponent(id)}?tab=permissions`}>{id}</Link>
        </h3>
        {!may && <Badge>may not pay</Badge>}
      </div>
      <Used
        name="Paid today"
        whose={id}
        used={agent.spent_today_usd}
        limit={agent.daily_usd}
        words={formatUsd}
      />
      <Used
        name="Payments in an hour"
        whose={id}
        used={agent.payments_last_hour}
        limit={agent.per_hour}
        words={String}
      />
      <p className="small muted plain-text">
        {agent.per_tx_usd === 0
          ? 'One payment may count for any amount'
          : `One payment up to ${formatUsd(agent.per_tx_usd)}`}
        ; chains: {chains.join(', ') || 'none'}; contracts: {contracts.join(', ') || 'none'}
      </p>
    </li>
  )
}

/** Shows how much of a payment limit is used; a limit of 0 means no limit. */
function Used({
  name,
  whose,
  used,
  limit,
  words: textOf,
}: {
  readonly name: string
  readonly whose: string
  readonly used: number
  readonly limit: number
  readonly words: (amount: number) => string
}) {
  return (
    <div className="wallet-used">
      <div className="row apart small number">
        <span className="muted">{name}</span>
        <span>
          {textOf(used)}{' '}
          <span className="muted">
            {limit === 0
              ? 'without a limit'
              : `of ${textOf(limit)}, ${textOf(Math.max(0, limit - used))} left`}
          </span>
        </span>
      </div>
      {limit !== 0 && <Bar part={used / limit} label={`${name}, ${whose}`} />}
    </div>
  )
}
