import { Problem } from '../../protocol/src/problem.ts'
import { createEffectOnce } from '../../foundation/src/effects/effect-once.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { httpRequestSchema } from '../../protocol/src/mesh-agent-api.ts'
import { createApprovalOfCall } from '../../work/src/approvals/approval-of-run.ts'
import { createApprovedEffects } from '../../egress/src/egress/approved/approved-effect.ts'
import { createApprovedRequests, httpApprovalKind } from '../../egress/src/egress/fetch/approved-requests.ts'
import type { ApprovalKind } from '../../work/src/approvals/approval-kind.ts'
import { createApprovals } from '../../work/src/approvals/approvals.ts'
import { originOf } from '../../work/src/runs/submit-run.ts'
import { aLedgerHarness, person } from './ledger-harness.ts'

export type SendRequest = Parameters<typeof createApprovedRequests>[0]['send']

/** A ledger with one run of an agent, whose requests wait for a person. `opened` starts a process on its rows. */
export function aHomeThatAsks() {
  const harness = aLedgerHarness()
  const { id: runId, origin } = harness.chat('scout')
  const ticket = {
    agentId: 'scout',
    runId,
    fence: 1,
    origin,
    budgetUsd: null,
    budgetTokens: null,
    taskId: null,
  }
  const caller = { kind: 'agent', agentId: 'scout', token: 'door', run: ticket } as const
  const decision = {
    verdict: 'ask',
    rule: 'push',
    line: 2,
    reason: 'A push changes the repository.',
  } as const

  /** The agent in another run. */
  function callerInOtherRun() {
    const { id, origin: ofOther } = harness.chat('scout')
    return { ...caller, run: { ...ticket, runId: id, origin: ofOther } }
  }

  /** A process on the rows of the home. */
  function desk() {
    const kinds: Record<string, ApprovalKind> = {}
    const approvals = createApprovals({
      ...harness,
      kinds,
      notifyRun: () => {},
      originOf: (of) => originOf(of),
      runCosts: () => null,
      log: silentLog,
    })
    const effects = createApprovedEffects({
      ask: approvals.ask,
      ofCall: createApprovalOfCall(harness.database),
      effects: createEffectOnce(harness),
      runs: harness.ledger.queries,
      newId: harness.newId,
    })
    const confirm = (id: string) =>
      approvals.confirm(person, { id, digest: approvals.read(person, id).digest })
    return { kinds, approvals, effects, confirm }
  }

  function opened(send: SendRequest) {
    const { kinds, approvals, effects, confirm } = desk()
    const approved = createApprovedRequests({ approved: effects, send })
    kinds[httpApprovalKind] = approved.kind
    /** Returns the id of the approval that a request waits for. */
    const ask = (request: object = {}, key?: string): string => {
      const whole = httpRequestSchema.parse({
        url: 'https://git.test/a',
        method: 'POST',
        headers: {},
        ...request,
      })
      try {
        return approved.ask(caller, whole, { decision, key })
      } catch (error) {
        return approvalIn(error)
      }
    }
    return { approvals, approved, ask, confirm }
  }
  return { ...harness, caller, callerInOtherRun, decision, runId, opened, desk }
}

/** The id of the approval that a refused effect waits for; throws any other error. */
export function approvalIn(error: unknown): string {
  const id = error instanceof Problem ? error.extra['approval'] : undefined
  if (typeof id !== 'string') throw error
  return id
}
