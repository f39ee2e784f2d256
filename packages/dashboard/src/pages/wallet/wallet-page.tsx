import { Link } from 'wouter'
import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { paymentApprovalKind } from '@flotilla/protocol/wallet-payments'
import { useMesh } from '../../data/use-mesh.ts'
import { Ago, Badge, Card, Empty, Failed, Loading, PageHead } from '../../design/parts.tsx'
import { Addresses } from './addresses-card.tsx'
import { PaymentLimits } from './limits-card.tsx'
import { Payments } from './payments-card.tsx'
import { SeedCard } from './seed-card.tsx'
import { followedMs } from './followed-ms.ts'
import './wallet.css'

/** Shows the seed, the payments of agents, and their limits. */
export function WalletPage() {
  const status = useMesh('walletStatus', {}, { refetchInterval: followedMs })
  return (
    <div className="page">
      <PageHead title="Wallet" />
      {status.isPending && <Loading />}
      {status.error && <Failed error={status.error} retry={status.refetch} />}
      {status.data?.state === 'none' && <NoWallet />}
      {status.data && status.data.state !== 'none' && (
        <>
          <SeedCard wallet={status.data} />
          <Waiting />
          <Payments />
          <PaymentLimits />
          <Addresses owner={status.data.owner_address} />
        </>
      )}
    </div>
  )
}

function NoWallet() {
  return (
    <section className="card" aria-label="No wallet">
      <Empty title="No wallet yet">
        The addresses of all agents come from one seed, which is created in a terminal:{' '}
        <code className="command">flotilla wallet init --passphrase</code> prints its 24 words once. Then{' '}
        <code className="command">flotilla wallet addresses AGENT</code> gives an agent its own.
      </Empty>
    </section>
  )
}

/** Lists payments that wait for a person's approval. */
function Waiting() {
  const approvals = useMesh('pending', { query: { state: 'open', limit: 100 } })
  const waiting = (approvals.data?.pending ?? []).filter(
    ({ kind, state }) => kind === paymentApprovalKind && state === 'pending',
  )
  if (approvals.error) return <Failed error={approvals.error} retry={approvals.refetch} />
  if (waiting.length === 0) return null
  return (
    <Card title="Waiting for you" more={<Badge tone="warn">{waiting.length} waiting</Badge>}>
      <div className="body stack">
        <ul className="stack">
          {waiting.map((one) => (
            <Asked key={one.id} approval={one} />
          ))}
        </ul>
        <div className="row">
          <Link href="/approvals" className="button primary">
            Look at what {waiting.length === 1 ? 'it does' : 'they do'}
          </Link>
        </div>
      </div>
    </Card>
  )
}

function Asked({
  approval: { subject, summary, created_at: createdAt },
}: {
  readonly approval: ApprovalView
}) {
  return (
    <li>
      <p className="plain-text">
        <strong>{subject}</strong> would {summary}
      </p>
      <p className="small muted">
        asked <Ago at={createdAt} />
      </p>
    </li>
  )
}
