import type { ProviderReply } from '../llm-provider.ts'
import { spendIn } from '../wire/collect-reply.ts'
import type { TokenUsage } from '../formats/usage.ts'
import type { Failure } from './failover.ts'
import type { Opened } from './open-call.ts'
import { failureFromError, failureFromRefusal } from './provider-failure.ts'
import { judgeOf } from './provider-problem.ts'
import type { CallWaits } from './report-waits.ts'

/** The answer to an attempt, or its failure. */
export type Outcome<Answer> = { readonly answer: Answer } | { readonly failure: Failure }

/**
 * Sends one reserved call to its provider. Settles the account if the provider may bill; if surely not, leaves it open.
 * `receive` reads a reply with status 200 until the answer may be forwarded. Before it resolves, the client has received
 * nothing, so another model may answer instead. Before it throws, it settles the reservation.
 */
export async function sendOnce<Answer>(
  opened: Opened,
  waits: CallWaits,
  receive: (reply: ProviderReply) => Promise<Answer>,
): Promise<Outcome<Answer>> {
  const { model, client } = opened
  const waited = waits.asking(model)
  const { account } = opened
  const billed = (usage: TokenUsage) => account.settle(usage)
  const settleUnseen = () => account.settleUnconfirmed(client.why() ?? 'broken-off')
  // Whatever the failure means: a closed account books no other attempt, so the next one needs a new reservation.
  const failed = (failure: Failure) => ({
    failure: account.isClosed() ? { ...failure, mayBeBilled: true } : failure,
  })
  try {
    const options = { ...opened.bounds, signal: client.cut, judge: judgeOf(model), billed }
    const reply = await spendIn(opened.bounds, () => model.llm.complete(opened.request, options))
    if (reply.status === 200) {
      const answer = await receive(reply)
      waits.over(model)
      return { answer }
    }
    const failure = await failureFromRefusal(reply, model, opened)
    if (failure.mayBeBilled) settleUnseen()
    return failed(failure)
  } catch (error) {
    const failure = client.cut.aborted ? null : failureFromError(error, model)
    if (failure?.mayBeBilled !== false) settleUnseen()
    if (failure === null) throw error
    return failed(failure)
  } finally {
    waited.end()
  }
}
