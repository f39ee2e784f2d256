import { useState } from 'react'
import { Link } from 'wouter'
import { formatPaymentsCsv } from '@flotilla/client/format-payments-csv'
import type { IntentState, PaymentView } from '@flotilla/protocol/wallet-payments'
import { formatUsd } from '../../data/format.ts'
import { saveFile } from '../../data/save-file.ts'
import { useChoice } from '../../data/use-choice.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Choice } from '../../design/choice.tsx'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import type { Tone } from '../../live/state-tone.ts'
import { followedMs } from './followed-ms.ts'
import { ReplacePayment } from './replace-payment.tsx'
import { formatActor } from '@flotilla/protocol/format-actor'

/** Number of rows at first, and of further rows for each click. */
const shownAtOnce = 50

/** Lists the payments of agents, newest first, with their results. */
export function Payments() {
  const [{ agent }, choose] = useChoice(['agent'])
  const [shown, setShown] = useState(shownAtOnce)
  const query = agent === '' ? {} : { agent_id: agent }
  const paid = useMesh('walletPayments', { query }, { refetchInterval: followedMs })
  const holders = useMesh('walletAddresses').data?.addresses ?? []
  const payments = paid.data?.payments ?? []
  return (
    <Card
      title="Payments"
      more={
        <span className="row">
          <Choice
            name="Agent"
            value={agent}
            of={holders.map(({ agent_id: id }) => id)}
            onChange={(value) => choose('agent', value)}
          />
          <button
            type="button"
            className="button small"
            disabled={payments.length === 0}
            onClick={() => saveFile('payments.csv', csvText(payments))}
          >
            Export as CSV
          </button>
        </span>
      }
    >
      {paid.isPending && <Loading />}
      {paid.error && <Failed error={paid.error} retry={paid.refetch} />}
      {paid.isSuccess && payments.length === 0 && (
        <Empty title="Nothing was paid yet">
          An agent can pay after a person has allowed it:{' '}
          <code>flotilla permissions set AGENT can_use_wallet=true wallet_allowed_chains+=base</code>
        </Empty>
      )}
      {payments.length > 0 && <PaymentTable payments={payments.slice(0, shown)} />}
      {payments.length > shown && (
        <div className="body">
          <button type="button" className="button" onClick={() => setShown(shown + shownAtOnce)}>
            Show older ones
          </button>
        </div>
      )}
    </Card>
  )
}

/** Returns the same bytes as the command that exports payments as CSV. */
function csvText(payments: readonly PaymentView[]): string {
  return `${formatPaymentsCsv(payments).join('\n')}\n`
}

function PaymentTable({ payments }: { readonly payments: readonly PaymentView[] }) {
  return (
    <Table
      label="Table of payments"
      columns={['State', 'Agent', 'What', { right: 'Counted' }, 'Transaction', 'Signed']}
    >
      {payments.map((payment) => (
        <Row key={payment.id} payment={payment} />
      ))}
    </Table>
  )
}

function Row({ payment }: { readonly payment: PaymentView }) {
  const { agent_id: agent, run_id: run, approved_by: by } = payment
  return (
    <tr>
      <td>
        <Badge tone={tones[payment.state]}>{payment.state}</Badge>
      </td>
      <td>
        <Link href={`/agents/${encodeURIComponent(agent)}`}>{agent}</Link>
      </td>
      <td className="wallet-what">
        {payment.what}
        <div className="small muted">
          {payment.chain}
          {by !== null && `, allowed by ${formatActor(by)}`}
          {run !== null && (
            <>
              {', '}
              <Link href={`/runs/${encodeURIComponent(run)}`}>
                its run<span className="hidden-words">, of payment {payment.id}</span>
              </Link>
            </>
          )}
        </div>
        {payment.note !== '' && <div className="small wallet-note">{payment.note}</div>}
        <ReplacePayment payment={payment} />
      </td>
      <td className="right number" data-label="Counted">
        {payment.given_back ? 'given back' : formatUsd(payment.counted_usd)}
      </td>
      <td data-label="Transaction">
        <span className="mono small wallet-id" title={payment.tx_id}>
          {payment.tx_id}
        </span>
      </td>
      <td className="muted wallet-when">
        <Ago at={payment.signed_at} />
      </td>
    </tr>
  )
}

const tones: Readonly<Record<IntentState, Tone>> = {
  signed: 'busy',
  sent: 'busy',
  landed: 'busy',
  confirmed: 'ok',
  failed: 'bad',
  replaced: 'neutral',
  expired: 'neutral',
  cancelled: 'neutral',
}
