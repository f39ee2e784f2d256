import { harnessApprovalKind, harnessCallKinds, harnessCallName } from '@flotilla/protocol/harness-api'
import type { HarnessCallKind } from '@flotilla/protocol/harness-api'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { createWaiters } from '@flotilla/foundation/platform'
import { actorOf } from '@flotilla/identity/access'
import type { AgentCaller } from '@flotilla/identity/http'
import type { CheckEffect, PolicyDecision } from '@flotilla/identity/policy'
import type { ApprovalDesk, ApprovalKind, ApprovalRecord } from '../approvals/index.ts'
import type { WorkKernel } from '../events/index.ts'
import type { RunDelivery, RunLifecycle } from '../runs/index.ts'
import { createHarnessApprovalKind } from './approve-call.ts'
import { harnessEffect } from './harness-effect.ts'
import type { StatedCall } from './harness-effect.ts'

/**
 * How long the turn of a harness stays open for the person who is asked, in milliseconds from the request. Then the call
 * is refused, and the run waits for the answer after its turn.
 */
export const askedHoldMs = 10 * 60_000
/** How long one request of the agent is held, in milliseconds: shorter than the silence that the agent accepts. */
const requestHoldMs = 20_000

export interface HarnessCall {
  /** Null if the harness names none: the strictest decision about any kind holds. */
  readonly kind: HarnessCallKind | null
  readonly subject: string
  readonly input: string
  /** Whether the harness states more than `subject` and `input` show. */
  readonly is_cut: boolean
  /** SHA-256 of everything that the harness states, in hex; empty if the agent did not send one. */
  readonly sha256: string
}

/** A call as its approval stores it; `equal-effects.ts` names the arguments that make two calls equal. */
interface CallArgs extends StatedCall {
  readonly [name: string]: string | boolean
  readonly agent_id: string
  readonly tool: ReturnType<typeof harnessCallName>
}

export interface PermitAnswer {
  readonly allowed: boolean
  /** True while a person may still answer within the turn. */
  readonly waits: boolean
  readonly reason: string
}

export interface PermitCallDeps extends Pick<WorkKernel, 'guard' | 'database' | 'journal' | 'clock'> {
  readonly checkEffect: CheckEffect
  readonly approvals: Pick<ApprovalDesk, 'ask' | 'ofRun'>
  readonly runs: Pick<RunDelivery, 'takeNote'> & Pick<RunLifecycle, 'live'>
}

/**
 * Decides whether a harness may make a call inside of its container, and records the answer. Without a rule the call is
 * allowed: the container bounds what it can do, and its way to the mesh and the network is decided again there.
 *
 * - **P1** A call that a rule asks about is an approval before the harness waits. An equal call of the same run finds it,
 *   also after a crash of the agent or the mesh, so that a person is asked once and the answer holds for the run.
 * - **P2** The answer reaches the harness within its turn, or the run after its turn, and not both.
 */
export function createPermitCall(deps: PermitCallDeps): {
  /** Resolves with the decision, or with `waits`. Problems `denied`, `stale-fence`. */
  readonly permit: (caller: AgentCaller, call: HarnessCall, gone: AbortSignal) => Promise<PermitAnswer>
  readonly kind: ApprovalKind
} {
  const { guard, database, journal, clock, checkEffect, approvals, runs } = deps
  const waiters = createWaiters({ clock })

  /** Returns the run of the caller, which must be live. */
  function runOf({ run }: AgentCaller): string {
    if (run === null) throw new Problem('stale-fence')
    return runs.live.ticketOf(run.runId, run.fence).runId
  }

  function askPerson(caller: AgentCaller, args: CallArgs, { rule, reason }: PolicyDecision): ApprovalRecord {
    const why = { run_id: runOf(caller), rule: rule ?? '', because: reason }
    return approvals.ask(caller, { kind: harnessApprovalKind, args: { ...args, ...why } })
  }

  /** Waits for a person, and returns what became of the approval. */
  async function answered(caller: AgentCaller, args: CallArgs, gone: AbortSignal): Promise<PermitAnswer> {
    const find = () => approvals.ofRun(runOf(caller), { kind: harnessApprovalKind, args })
    const asked = find()
    const leftMs = (row: ApprovalRecord) => row.createdAt + askedHoldMs - clock.now()
    if (asked !== null && isOpen(asked) && leftMs(asked) > 0)
      await waiters.wait(caller.agentId, Math.min(requestHoldMs, leftMs(asked)), gone)
    // If the run ended during the wait, the caller must not receive the answer.
    const row = find()
    if (row === null) return refused('The approval no longer exists.')
    if (isOpen(row))
      return { ...refused(`The call waits for a person as ${row.id}.`), waits: leftMs(row) > 0 }
    if (row.state === 'done')
      checkEffect.again({ agentId: caller.agentId, runId: runOf(caller) }, harnessEffect(args))
    runs.takeNote(runOf(caller), `approval:${row.id}`)
    return { allowed: row.state === 'done', waits: false, reason: row.detail }
  }

  async function decide(caller: AgentCaller, args: CallArgs, gone: AbortSignal): Promise<PermitAnswer> {
    try {
      const before = approvals.ofRun(runOf(caller), { kind: harnessApprovalKind, args })
      if (before === null || before.state === 'expired') {
        const decision = checkEffect(caller, harnessEffect(args))
        if (decision.verdict === 'allow') return { allowed: true, waits: false, reason: decision.reason }
        askPerson(caller, args, decision)
      }
      return await answered(caller, args, gone)
    } catch (error) {
      if (error instanceof Problem && refusals.has(error.code)) return refused(error.detail)
      throw error
    }
  }

  return {
    kind: createHarnessApprovalKind({
      checkEffect,
      settled: (agentId) => database.afterCommit(() => waiters.wake(agentId)),
    }),
    permit: async (caller, { kind, subject, input, is_cut, sha256 }, gone) => {
      const { agentId } = caller
      guard(caller, { do: 'act-for-self', agentId })
      const tool = kind === null ? strictestTool(checkEffect, caller) : harnessCallName(kind)
      const shown = { subject: sanitizeForPrompt(subject), input: sanitizeForPrompt(input) }
      const stated = { ...shown, is_cut, sha256, names_kind: kind !== null }
      const answer = await decide(caller, { agent_id: agentId, tool, ...stated }, gone)
      if (!answer.waits)
        database.transaction(() =>
          journal.append({
            actor: actorOf(caller),
            action: answer.allowed ? 'harness.permitted' : 'harness.refused',
            subject: agentId,
            detail: { tool, call: shown.subject, run_id: caller.run?.runId ?? '' },
          }),
        )
      return answer
    },
  }
}

/** Returns the kind of call about which the policy decides most strictly now. */
function strictestTool(checkEffect: Pick<CheckEffect, 'strictest'>, caller: AgentCaller): CallArgs['tool'] {
  const details = harnessCallKinds.map((kind) => ({ tool: harnessCallName(kind), call: null }))
  const other = { tool: harnessCallName('other'), call: null }
  const { tool } = checkEffect.strictest(caller, [other, ...details])
  return details.find((one) => one.tool === tool)?.tool ?? other.tool
}

const refusals: ReadonlySet<string> = new Set(['policy-denied', 'approvals-full'])

function isOpen({ state }: ApprovalRecord): boolean {
  return state === 'pending' || state === 'confirmed'
}

function refused(reason: string): PermitAnswer {
  return { allowed: false, waits: false, reason }
}
