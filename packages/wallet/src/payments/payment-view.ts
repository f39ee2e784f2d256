import type { PaymentView } from '@flotilla/protocol/wallet-payments'
import { usdOfMicro } from './amounts.ts'
import type { IntentRecord } from './intent-record.ts'

/** Returns a payment as the API shows it, without its bytes. Pure. */
export function viewOf(intent: IntentRecord): PaymentView {
  return {
    id: intent.id,
    agent_id: intent.agentId,
    run_id: intent.runId,
    chain: intent.chain,
    from: intent.sender,
    to: intent.recipient,
    what: intent.words,
    tx_id: intent.txId,
    state: intent.state,
    counted_usd: usdOfMicro(intent.chargedMicroUsd),
    given_back: intent.givenBackAt !== null,
    approved_by: intent.approvedBy,
    block: intent.block,
    note: intent.note,
    signed_at: intent.signedAt,
    ended_at: intent.endedAt,
  }
}
