import { useState } from 'react'
import { evmChains } from '@flotilla/protocol/wallet-api'
import type { PaymentView } from '@flotilla/protocol/wallet-payments'
import { useAction } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Confirm } from '../../design/confirm.tsx'

type How = 'speed-up' | 'cancel'

const texts = {
  'speed-up': {
    button: 'Speed up …',
    title: 'Offer a higher fee for this payment?',
    action: 'Offer more',
    done: 'The payment was signed once more, at a higher fee.',
    says: 'The same payment is signed once more with a higher fee, a quarter more at least.',
  },
  cancel: {
    button: 'Cancel …',
    title: 'Cancel this payment?',
    action: 'Cancel the payment',
    done: 'A transaction that moves nothing was signed in its place.',
    says: 'An empty transaction with a higher fee is signed to replace the payment. The chain may still confirm the agent’s payment first.',
  },
} as const satisfies Record<How, object>

/** Replaces or cancels a payment that is in no block yet, on EVM chains; on others such a payment expires. */
export function ReplacePayment({ payment }: { readonly payment: PaymentView }) {
  const [asking, setAsking] = useState<How | null>(null)
  const stale = ['walletPayments', 'walletLimitsNow'] as const
  const calls = {
    'speed-up': useAction('walletPaymentReplace', { done: texts['speed-up'].done, stale }),
    cancel: useAction('walletPaymentReplace', { done: texts.cancel.done, stale }),
  }
  const isWaiting = payment.state === 'signed' || payment.state === 'sent'
  if (!isWaiting || !Object.hasOwn(evmChains, payment.chain)) return null
  return (
    <div className="row wallet-replace">
      {(['speed-up', 'cancel'] as const).map((how) => (
        <Act key={how} call="walletPaymentReplace" className="button small" onClick={() => setAsking(how)}>
          {texts[how].button}
          <span className="hidden-words"> Payment {payment.id}</span>
        </Act>
      ))}
      {asking !== null && (
        <Confirm
          title={texts[asking].title}
          action={texts[asking].action}
          leave="Keep the payment"
          busy={calls[asking].isPending}
          onClose={() => setAsking(null)}
          onConfirm={() =>
            calls[asking].mutate(
              { params: { id: payment.id }, body: { do: asking } },
              { onSettled: () => setAsking(null) },
            )
          }
        >
          <p>
            {payment.agent_id}: {payment.what}.
          </p>
          <p>
            {texts[asking].says} The chain confirms only one of the two. The higher fee counts against the
            limits of the agent.
          </p>
        </Confirm>
      )}
    </div>
  )
}
