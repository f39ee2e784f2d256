import type { NewId } from '@flotilla/protocol/ids'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { EffectOnce, OutsideLine } from '@flotilla/foundation/effects'
import type { Caller } from '@flotilla/identity/access'
import type { PolicyDecision } from '@flotilla/identity/policy'
import type { ApprovalDesk, AskApproval, ConfirmedLine, RequestedApproval } from '@flotilla/work/approvals'
import type { RunQueries } from '@flotilla/work/runs'
import * as z from 'zod'

export type AgentCaller = Extract<Caller, { kind: 'agent' }>

/** The arguments that every approval of an effect outside of the mesh has. */
export const approvedEffectArgs = {
  agent_id: z.string(),
  run_id: z.string(),
  /** The idempotency key of the agent's call, else random: each approval is one effect of its own in the record. */
  once: z.string(),
  fence: z.number(),
  rule: z.string(),
  because: z.string(),
} as const
const approvedEffectSchema = z.object(approvedEffectArgs)

/**
 * Effects outside of the mesh that a rule of the owner asks for, of any kind.
 *
 * 1. The effect is stored before a person sees it; the digest of the approval binds its final bytes.
 * 2. It leaves at most once: the row of the effect is committed before the first byte, and an effect whose row exists
 *    is never sent again, also after a crash.
 * 3. A call that is repeated with its idempotency key, such as after a crash, finds its approval in whatever state, so
 *    that a person is asked about it once.
 * 4. The expiry of the approval is checked again when it leaves. The sender checks permission, policy and filter.
 */
export interface ApprovedEffects {
  /**
   * Stores the effect of the caller's run for a person. `key` is the idempotency key of the agent's call, if it has one.
   * Problems `stale-fence`, and those of `AskApproval`.
   */
  ask(
    caller: AgentCaller,
    kind: string,
    effect: {
      readonly decision: PolicyDecision
      readonly args: JsonObject
      readonly key?: string | undefined
    },
  ): RequestedApproval
  /**
   * Carries an approved effect out, once, for the first run that still waits for it. Problem `conflict` if all of them
   * have ended.
   */
  once<Reply>(
    args: JsonObject,
    confirmed: ConfirmedLine | undefined,
    send: (caller: AgentCaller, line: OutsideLine) => Promise<Reply>,
  ): Promise<Reply>
}

export interface ApprovedEffectsDeps {
  readonly ask: AskApproval
  readonly ofCall: ApprovalDesk['ofCall']
  readonly effects: Pick<EffectOnce, 'outside' | 'wasBegun'>
  readonly runs: Pick<RunQueries, 'find'>
  readonly newId: NewId
}

export function createApprovedEffects(deps: ApprovedEffectsDeps): ApprovedEffects {
  return {
    ask: (caller, kind, { decision: { rule, reason }, args, key }) => {
      const { run } = caller
      if (run === null) throw new Problem('stale-fence')
      const earlier = key === undefined ? null : deps.ofCall(run.runId, key)
      if (earlier !== null) return { ...earlier, joined: true }
      const once = key ?? deps.newId('call')
      const of = { agent_id: caller.agentId, run_id: run.runId, once, fence: run.fence }
      return deps.ask(caller, { kind, args: { ...args, ...of, rule: rule ?? '', because: reason } })
    },
    once: async (args, confirmed, send) => {
      const { agent_id: agentId, run_id: askedBy, once, fence: askedWith } = approvedEffectSchema.parse(args)
      // The approval keeps one run from its confirmation on, so that a restart finds the row of the effect.
      const runId = confirmed?.runId ?? askedBy
      const run = deps.runs.find(runId)
      const key = `approved ${once}`
      if (run === null || run.agentId !== agentId || isTerminal(run.state)) {
        if (deps.effects.wasBegun({ runId, key })) {
          throw new Problem('outcome-unknown', {
            detail:
              'the mesh was stopped while it sent this, and the run has ended since; it may have taken effect',
          })
        }
        throw new Problem('conflict', {
          detail: 'the run that requested this has ended, so nothing was sent',
        })
      }
      const fence = runId === askedBy ? askedWith : run.fence
      const { budgetUsd, budgetTokens, taskId, origin } = run
      const ticket = { agentId, runId, fence, origin, budgetUsd, budgetTokens, taskId }
      const caller: AgentCaller = { kind: 'agent', agentId, token: 'door', run: ticket }
      const call = { agentId, runId, key, request: args }
      return deps.effects.outside(call, ({ signal, dispatching }) =>
        send(caller, {
          signal,
          dispatching: () => {
            confirmed?.requireInTime()
            dispatching()
          },
        }),
      )
    },
  }
}

/** The problem of an effect that waits for a person. Pure. */
export function approvalRequired(what: string, row: RequestedApproval, because: string): Problem {
  const isDecided = row.state !== 'pending' && row.state !== 'confirmed'
  return new Problem('approval-required', {
    detail: isDecided
      ? `This ${what} waited for a person as ${row.id}, which is ${row.state}: ${row.detail}`
      : `${row.joined ? `An equal ${what} already waits` : `The ${what} waits`} for a person as ${row.id}, and was not sent: ${because}`,
    extra: { approval: row.id },
  })
}
