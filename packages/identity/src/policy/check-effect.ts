import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import { actorOf, createWriteWindow } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import type { Effect, PolicyDecision } from './effect.ts'
import type { PolicyStore } from './policy-file.ts'

/** An effect without what follows from its caller. */
export type EffectDetails = Omit<Effect, 'agent' | 'project' | 'origins'>

interface Refusal {
  readonly details: EffectDetails
  readonly decision: PolicyDecision
  /** What the agent may do instead. */
  readonly instead?: string
}

/** The maximum length of a value in the audit record of a decision, in characters. */
const recordedMaxChars = 200

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
  /** Whether any rule or fault exists, so that effects need not be described for an empty policy. */
  isActive(): boolean
  /** Decides about work of these origins without recording; for explanations. */
  explain(agentId: string, details: EffectDetails, origins: readonly string[]): PolicyDecision
}

/**
 * Creates the check that every exit for effects of agents calls after the guard. A spawned agent belongs to the
 * project of its root ancestor.
 */
export function createCheckEffect(deps: {
  readonly policy: Pick<PolicyStore, 'snapshot'>
  readonly projectOf: (agentId: string) => string | null
  /** The kinds of origin of a run and of its ancestors. */
  readonly originsOf: (runId: string) => readonly string[]
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
}): CheckEffect {
  const unwrittenBefore = createWriteWindow(deps.clock)

  function decide(
    agentId: string,
    details: EffectDetails,
    originsOf: () => readonly string[] | null,
  ): PolicyDecision {
    const project = deps.projectOf(agentId)
    return deps.policy.snapshot().decide({
      ...details,
      agent: agentId,
      ...(project === null ? {} : { project }),
      // Read only if a rule asks for it.
      get origins() {
        return originsOf()
      },
    })
  }

  function refuse(actor: string, { details, decision, instead = '' }: Refusal): never {
    const skipped = unwrittenBefore(actor)
    if (skipped !== null) {
      deps.log.warn(
        { actor, tool: details.tool, rule: decision.rule, reason: decision.reason, skipped },
        'denied an effect that the policy does not allow',
      )
      deps.journal.append({
        actor,
        action: 'policy.denied',
        subject: subjectOf(details).slice(0, recordedMaxChars),
        detail: {
          tool: details.tool,
          verdict: decision.verdict,
          rule: decision.rule ?? '',
          line: decision.line ?? 0,
          reason: decision.reason.slice(0, recordedMaxChars),
          skipped,
        },
      })
    }
    const { rule, line } = decision
    const by =
      rule === null ? '' : ` (rule ${rule}${line === null ? '' : `, config/policy.yaml line ${line}`})`
    throw new Problem('policy-denied', {
      detail: `${decision.reason}${by}${instead === '' ? '' : `; ${instead}`}`,
      extra: { ...(rule === null ? {} : { rule }), ...(line === null ? {} : { line }) },
    })
  }

  function check(caller: Caller, details: EffectDetails): PolicyDecision {
    if (caller.kind !== 'agent') return { verdict: 'allow', rule: null, line: null, reason: 'no agent asks' }
    const runId = caller.run?.runId
    const decision = decide(caller.agentId, details, () =>
      runId === undefined ? null : deps.originsOf(runId),
    )
    return decision.verdict === 'deny' ? refuse(actorOf(caller), { details, decision }) : decision
  }

  return Object.assign(check, {
    requireAllowed: (caller: Caller, details: EffectDetails, instead: string) => {
      const decision = check(caller, details)
      return decision.verdict === 'ask' ? refuse(actorOf(caller), { details, decision, instead }) : decision
    },
    again: (
      { agentId, runId }: { readonly agentId: string; readonly runId: string },
      details: EffectDetails,
    ) => {
      const decision = decide(agentId, details, () => deps.originsOf(runId))
      if (decision.verdict === 'deny') refuse(`agent:${agentId}`, { details, decision })
    },
    isActive: () => {
      const { rules, broken } = deps.policy.snapshot()
      return rules.length > 0 || broken !== null
    },
    explain: (agentId: string, details: EffectDetails, origins: readonly string[]) =>
      decide(agentId, details, () => origins),
  })
}

/** The object of an effect for the audit log; never its content. */
function subjectOf({ tool, host, mcpServer, mcpTool, chain }: EffectDetails): string {
  if (mcpServer !== undefined) return `${mcpServer}${typeof mcpTool === 'string' ? `/${mcpTool}` : ''}`
  return host ?? chain ?? tool
}
