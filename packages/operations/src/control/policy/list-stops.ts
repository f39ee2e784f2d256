import type { Clock } from '@flotilla/protocol/clock'
import type { PolicyStops } from '@flotilla/protocol/policy-api'
import { yamlText } from '@flotilla/foundation/config'
import type { Caller, Guard } from '@flotilla/identity/access'
import { proposeRule, withRule } from '@flotilla/identity/policy'
import type {
  EffectDetails,
  PolicyStop,
  PolicyStore,
  PolicyUse,
  ProposedRule,
} from '@flotilla/identity/policy'
import type { PolicyEffects } from '@flotilla/work/approvals'
import { allowedWords } from './allowed-words.ts'
import { describeEffect } from './describe-effect.ts'

/** How many effects are listed, the latest. */
const listedMax = 200
const dayMs = 24 * 3600 * 1000

type Stop = PolicyStops['stops'][number]

/** Lists what rules asked for or denied lately, each with the narrowest rule that would allow it. */
export type ListStops = (
  caller: Caller,
  of: { readonly agentId: string | null; readonly days: number },
) => PolicyStops

export function createListStops(deps: {
  readonly guard: Guard
  readonly policy: Pick<PolicyStore, 'snapshot'>
  readonly policyUse: Pick<PolicyUse, 'stops'>
  readonly approvals: Pick<PolicyEffects, 'decidedSince'>
  readonly projectOf: (agentId: string) => string | null
  readonly clock: Clock
}): ListStops {
  return (caller, { agentId, days }) => {
    deps.guard(caller, { do: 'manage-credentials' })
    const since = deps.clock.now() - days * dayMs
    const { rules } = deps.policy.snapshot()
    const all = deps.policyUse.stops({ agentId: null, since, limit: listedMax })
    const approved = deps.approvals.decidedSince(since).filter(({ isApproved }) => isApproved)
    const verdictOf = new Map(rules.map(({ name, verdict }) => [name, verdict]))

    function opens(rule: ProposedRule): string[] {
      const decide = withRule(rules, rule)
      return all
        .filter((stop) => {
          const project = deps.projectOf(stop.agentId)
          const of = { agent: stop.agentId, ...(project === null ? {} : { project }), origins: null }
          return decide({ ...stop.effect, ...of }).rule === rule.name
        })
        .map((stop) => `${stop.agentId}: ${describeEffect(stop.effect)}`)
    }

    function shown(stop: PolicyStop): Stop {
      const { rule, effect, verdict, count } = stop
      const isAsked = verdictOf.get(rule) === 'ask'
      const reason = 'Proposed from what the policy stopped.'
      const proposal = isAsked ? proposeRule(stop.agentId, effect, { rule, reason }) : null
      const key = keyOf(stop.agentId, effect)
      return {
        agent_id: stop.agentId,
        effect: describeEffect(effect),
        verdict,
        rule,
        count,
        last_at: stop.lastAt,
        approved: approved.filter(({ agentId: of, details }) => keyOf(of, details) === key).length,
        proposal:
          proposal === null
            ? null
            : {
                rule: proposal,
                text: yamlText([proposal]),
                allows: [...allowedWords(stop.agentId, { rule: proposal, effect }, null)],
                opens: opens(proposal),
              },
        advice: proposal === null ? adviceFor(stop, verdictOf.get(rule)) : '',
      }
    }
    return { stops: all.filter((stop) => agentId === null || stop.agentId === agentId).map(shown) }
  }
}

function adviceFor({ rule, effect }: PolicyStop, verdict: string | undefined): string {
  if (verdict === undefined) return `The rule ${rule} is no longer in config/policy.yaml.`
  if (verdict === 'deny')
    return `No rule can except from ${rule}, because it denies; change that rule itself.`
  if (effect.tool === 'connect')
    return `A connection hides what is sent; flotilla egress inspect ${effect.host} lets rules see each request.`
  return 'No rule can name this effect exactly; write one by hand.'
}

function keyOf(agentId: string, effect: EffectDetails): string {
  return `${agentId} ${describeEffect(effect)}`
}
