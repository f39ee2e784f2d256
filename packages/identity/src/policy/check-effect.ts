import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import { actorOf, createWriteWindow } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import type { EffectDetails, PolicyDecision, Verdict, WorkOrigins } from './effect.ts'
import type { PolicyStore } from './policy-file.ts'
import type { PolicyUse } from './policy-use.ts'

interface Refusal {
  readonly details: EffectDetails
  readonly decision: PolicyDecision
  /** What the agent may do instead. */
  readonly instead?: string
}

/**
 * How many allowed effects of one agent and rule are recorded a minute; the record says how many came before. A record
 * is a commit, and a program may send a hundred requests a second.
 */
const passesPerMinute = 1
/** The maximum length of a value in the audit record of a decision, in characters. */
const recordedMaxChars = 200

/** The verdicts that are stricter than `allow`, the strictest first. */
const strictVerdicts: readonly Verdict[] = ['deny', 'ask']

export interface CheckEffect {
  /**
   * Returns the decision `allow` or `ask` about an effect of an agent, and records a refusal. Throws the Problem
   * `policy-denied` for `deny`. What people and the mesh do itself is allowed.
   */
  (caller: Caller, details: EffectDetails): PolicyDecision
  /**
   * Like a call, for an effect that no person can be asked for, such as a tunnel: `ask` is refused too, with these
   * words about what to do instead.
   */
  requireAllowed(caller: Caller, details: EffectDetails, instead: string): PolicyDecision
  /**
   * Checks an effect of a waiting run again before it is carried out, after a person approved it. Throws the Problem
   * `policy-denied` for `deny`.
   */
  again(work: { readonly agentId: string; readonly runId: string }, details: EffectDetails): void
  /**
   * Returns the one of several effects whose decision is the strictest, the first of equal ones, without recording it.
   * For an effect that may be any of them.
   */
  strictest(caller: Caller, choices: readonly [EffectDetails, ...EffectDetails[]]): EffectDetails
  /** Whether any rule or fault exists, so that effects need not be described for an empty policy. */
  isActive(): boolean
  /** Decides about work of these origins without recording; for explanations. */
  explain(agentId: string, details: EffectDetails, work: WorkOrigins): PolicyDecision
}

export interface PolicyChecks extends CheckEffect {
  /** The same check for effects that a person has approved: what is asked for passes, and is not counted again. */
  readonly ofApproved: CheckEffect
}

/**
 * Creates the check that every exit for effects of agents calls after the guard. A spawned agent belongs to the
 * project of its root ancestor.
 */
export function createCheckEffect(deps: {
  readonly policy: Pick<PolicyStore, 'snapshot'>
  readonly projectOf: (agentId: string) => string | null
  /** The kinds of origin and the channels of a run and of its ancestors. */
  readonly originsOf: (runId: string) => WorkOrigins
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
  /** Counts the decisions of rules. */
  readonly use: Pick<PolicyUse, 'note'>
}): PolicyChecks {
  const unwrittenBefore = createWriteWindow(deps.clock)
  const uncountedBefore = createWriteWindow(deps.clock, passesPerMinute)

  /** Reads the origins of a run once, if a rule asks for them; work without a run has unknown origins. */
  function createWorkOf(runId: string | undefined): () => WorkOrigins {
    let work: WorkOrigins | null = runId === undefined ? { origins: null, channels: null } : null
    return () => (work ??= deps.originsOf(runId ?? ''))
  }

  function decide(agentId: string, details: EffectDetails, originsOf: () => WorkOrigins): PolicyDecision {
    const project = deps.projectOf(agentId)
    return deps.policy.snapshot().decide({
      ...details,
      agent: agentId,
      ...(project === null ? {} : { project }),
      // Read only if a rule asks for it.
      get origins() {
        return originsOf().origins
      },
      get channels() {
        return originsOf().channels
      },
    })
  }

  /** Records a decision of a rule. Those beyond the window's number are counted in its next record. */
  function record(
    actor: string,
    { details, decision }: Refusal,
    of: { readonly action: string; readonly skipped: number },
  ): void {
    const { method, path } = details
    deps.journal.append({
      actor,
      action: of.action,
      subject: subjectOf(details).slice(0, recordedMaxChars),
      detail: {
        tool: details.tool,
        verdict: decision.verdict,
        rule: decision.rule ?? '',
        line: decision.line ?? 0,
        reason: decision.reason.slice(0, recordedMaxChars),
        ...(typeof method === 'string' ? { method } : {}),
        ...(typeof path === 'string' ? { path: path.slice(0, recordedMaxChars) } : {}),
        skipped: of.skipped,
      },
    })
  }

  function refuse(actor: string, refusal: Refusal): never {
    const { details, decision, instead = '' } = refusal
    const skipped = unwrittenBefore(actor)
    if (skipped !== null) {
      deps.log.warn(
        { actor, tool: details.tool, rule: decision.rule, reason: decision.reason, skipped },
        'denied an effect that the policy does not allow',
      )
      record(actor, refusal, { action: 'policy.denied', skipped })
    }
    const { rule, line } = decision
    const by = rule === null ? '' : ` (rule ${rule}, config/policy.yaml line ${line})`
    throw new Problem('policy-denied', {
      detail: `${decision.reason}${by}${instead === '' ? '' : `; ${instead}`}`,
      extra: { ...(rule === null ? {} : { rule }), ...(line === null ? {} : { line }) },
    })
  }

  /** Decides about an effect that is about to happen, and records what a rule decided. */
  function settle(
    caller: Caller,
    { details, instead }: { readonly details: EffectDetails; readonly instead?: string },
    isApproved: boolean,
  ): PolicyDecision {
    if (caller.kind !== 'agent') return { verdict: 'allow', rule: null, line: null, reason: 'no agent asks' }
    const runId = caller.run?.runId
    const workOf = createWorkOf(runId)
    const decision = decide(caller.agentId, details, workOf)
    const { verdict, rule } = decision
    // The request of an approved effect was counted when it was asked for.
    if (isApproved && verdict === 'ask' && instead === undefined) return decision
    deps.use.note(caller.agentId, { details, originsOf: () => workOf().origins }, decision)
    const actor = actorOf(caller)
    if (verdict === 'deny' || (verdict === 'ask' && instead !== undefined))
      return refuse(actor, { details, decision, ...(verdict === 'ask' && instead ? { instead } : {}) })
    const skipped = rule === null ? null : uncountedBefore(`${actor} ${rule}`)
    if (skipped !== null)
      record(
        actor,
        { details, decision },
        { action: verdict === 'ask' ? 'policy.asked' : 'policy.allowed', skipped },
      )
    return decision
  }

  const checks = (isApproved: boolean) =>
    Object.assign((caller: Caller, details: EffectDetails) => settle(caller, { details }, isApproved), {
      requireAllowed: (caller: Caller, details: EffectDetails, instead: string) =>
        settle(caller, { details, instead }, isApproved),
    })
  const others = {
    strictest: (caller: Caller, choices: readonly [EffectDetails, ...EffectDetails[]]): EffectDetails => {
      if (caller.kind !== 'agent') return choices[0]
      const runId = caller.run?.runId
      const workOf = createWorkOf(runId)
      const verdictOf = (details: EffectDetails) => decide(caller.agentId, details, workOf).verdict
      const rated = choices.map((details) => ({ details, verdict: verdictOf(details) }))
      const found = strictVerdicts.flatMap((verdict) => rated.find((one) => one.verdict === verdict) ?? [])[0]
      return found?.details ?? choices[0]
    },
    again: (
      { agentId, runId }: { readonly agentId: string; readonly runId: string },
      details: EffectDetails,
    ) => {
      const decision = decide(agentId, details, createWorkOf(runId))
      if (decision.verdict === 'deny') refuse(`agent:${agentId}`, { details, decision })
    },
    isActive: () => {
      const { rules, broken } = deps.policy.snapshot()
      return rules.length > 0 || broken !== null
    },
    explain: (agentId: string, details: EffectDetails, work: WorkOrigins) =>
      decide(agentId, details, () => work),
  }
  return Object.assign(checks(false), others, { ofApproved: Object.assign(checks(true), others) })
}

/** The object of an effect for the audit log; never its content. */
function subjectOf({ tool, host, mcpServer, mcpTool, chain }: EffectDetails): string {
  if (mcpServer !== undefined) return `${mcpServer}${typeof mcpTool === 'string' ? `/${mcpTool}` : ''}`
  return host ?? chain ?? tool
}
