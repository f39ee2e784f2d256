import type { Clock } from '@flotilla/protocol/clock'
import type { PolicyStops } from '@flotilla/protocol/policy-api'
import { yamlText } from '@flotilla/foundation/config'
import type { LoopShare, StepWork } from '@flotilla/foundation/intake'
import type { Caller, Guard } from '@flotilla/identity/access'
import { createTryRule, harnessCallPrefix, mayBeCut, proposeRule } from '@flotilla/identity/policy'
import type {
  Effect,
  EffectDetails,
  PolicyStop,
  PolicyStore,
  PolicyUse,
  TriedRule,
} from '@flotilla/identity/policy'
import type { PolicyEffects } from '@flotilla/work/approvals'
import { describeAllowedActions } from './describe-allowed-actions.ts'
import { describeEffect } from './describe-effect.ts'

/** How many effects are listed, the latest. */
const listedMax = 200
const dayMs = 24 * 3600 * 1000

type Stop = PolicyStops['stops'][number]

/**
 * Lists what rules asked for or denied lately, each with the narrowest rule that would allow it: effects of one agent,
 * or of all for null. Pauses between two effects, so that other requests are served.
 */
export type ListStops = (
  caller: Caller,
  of: { readonly agentId: string | null; readonly days: number },
) => Promise<PolicyStops>

export function createListStops(deps: {
  readonly guard: Guard
  readonly policy: Pick<PolicyStore, 'snapshot'>
  readonly policyUse: Pick<PolicyUse, 'stops'>
  readonly approvals: Pick<PolicyEffects, 'approvedSince'>
  readonly projectOf: (agentId: string) => string | null
  readonly clock: Clock
  readonly loop: Pick<LoopShare, 'inSteps'>
}): ListStops {
  function* list(agentId: string | null, since: number): StepWork<PolicyStops> {
    const { rules, decide, broken } = deps.policy.snapshot()
    const found = deps.policyUse.stops({ agentId, since, limit: listedMax + 1 })
    const listed = found.slice(0, listedMax)
    const approved = new Map<string, number>()
    for (const effect of deps.approvals.approvedSince(since, agentId)) {
      yield
      const key = keyOf(effect.agentId, effect.details)
      approved.set(key, (approved.get(key) ?? 0) + 1)
    }
    const verdictOf = new Map(rules.map(({ name, verdict }) => [name, verdict]))
    const tried = createTryRule(rules)

    /** The effect as the policy decides about it. */
    function effectOf({ agentId, effect, origins }: PolicyStop): Effect {
      const project = deps.projectOf(agentId)
      // The channels are not stored, so a rule about channels that asks or denies still counts.
      return { ...effect, agent: agentId, ...(project === null ? {} : { project }), origins, channels: null }
    }

    /** What a rule about one agent would allow of what is listed. */
    function* opens(rule: TriedRule, agent: string): StepWork<string[]> {
      const opened: string[] = []
      for (const stop of listed) {
        if (stop.agentId !== agent) continue
        yield
        if (rule.opens(effectOf(stop))) opened.push(`${agent}: ${describeEffect(stop.effect)}`)
      }
      return [...new Set(opened)]
    }

    /** The rule that allows now what was stopped before, such as one that the owner added with "always". */
    function allowingNow(stop: PolicyStop): string | null {
      if (mayBeCut(stop.effect)) return null
      const { verdict, rule } = decide(effectOf(stop))
      return verdict === 'allow' ? rule : null
    }

    function* shown(stop: PolicyStop): StepWork<Stop> {
      const { agentId: agent, rule, effect, verdict, origins, count } = stop
      const isAsked = verdictOf.get(rule) === 'ask'
      const allowing = isAsked ? allowingNow(stop) : null
      const reason = 'Proposed from what the policy stopped.'
      // The rule for the beginning of a path would be one about another path.
      const isProposed = isAsked && allowing === null && !mayBeCut(effect)
      const proposal = isProposed
        ? proposeRule(agent, effect, { rule, reason, ...(origins?.length ? { origins } : {}) })
        : null
      return {
        agent_id: agent,
        effect: describeEffect(effect),
        verdict,
        rule,
        origins: origins === null ? null : [...origins],
        count,
        last_at: stop.lastAt,
        approved: approved.get(keyOf(agent, effect)) ?? 0,
        proposal:
          proposal === null
            ? null
            : {
                rule: proposal,
                text: yamlText([proposal]),
                allows: [
                  ...describeAllowedActions(
                    agent,
                    { rule: proposal, effect },
                    origins?.length ? origins : null,
                  ),
                ],
                opens: yield* opens(tried(proposal), agent),
              },
        advice:
          allowing !== null
            ? `The rule ${allowing} allows this by now.`
            : proposal === null
              ? broken === null
                ? adviceFor(stop, verdictOf.get(rule))
                : 'No rule can be added while config/policy.yaml is invalid.'
              : '',
      }
    }

    const stops: Stop[] = []
    for (const stop of listed) {
      yield
      stops.push(yield* shown(stop))
    }
    return { stops, truncated: found.length > listedMax }
  }

  return (caller, { agentId, days }) => {
    deps.guard(caller, { do: 'manage-credentials' })
    return deps.loop.inSteps(null, list(agentId, deps.clock.now() - days * dayMs), 'finish')
  }
}

function adviceFor({ rule, effect }: PolicyStop, verdict: string | undefined): string {
  if (verdict === undefined) return `The rule ${rule} is no longer in config/policy.yaml.`
  if (verdict === 'deny')
    return `No rule can except from ${rule}, because it denies; change that rule itself.`
  if (mayBeCut(effect))
    return 'The mesh kept only the beginning of this effect, which no rule can name exactly; write one by hand.'
  if (effect.tool === 'connect')
    return `A connection hides what is sent; flotilla egress inspect ${effect.host} lets rules see each request.`
  if (effect.chain !== undefined || effect.tool.startsWith(harnessCallPrefix))
    return 'A rule can name such an effect exactly when you approve one: flotilla confirm APPROVAL --always.'
  return 'No rule can name this effect exactly; write one by hand.'
}

function keyOf(agentId: string, effect: EffectDetails): string {
  return `${agentId} ${describeEffect(effect)}`
}
