import type { PolicyRuleText } from '@flotilla/protocol/policy-api'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { PolicyChange, PolicySnapshot, PolicyStore } from '@flotilla/identity/policy'

/**
 * Adds a rule to config/policy.yaml, by its owner at the terminal or the dashboard. Problems `denied`, `human-only`,
 * `conflict` if a rule has that name, and `unprocessable` if the file with the rule would be invalid or one of its
 * cases would fail.
 */
export type AddRule = (caller: Caller, rule: PolicyRuleText) => Promise<{ readonly added: string }>

export function createAddRule(deps: {
  readonly guard: Guard
  readonly policy: Pick<PolicyStore, 'edit'>
  readonly journal: Journal
}): AddRule {
  return async (caller, rule) => {
    deps.guard(caller, { do: 'manage-credentials' })
    const person = requireAtTerminal(caller, 'add a rule to config/policy.yaml')
    await deps.policy.edit(addingRule(rule))
    deps.journal.append(ruleAdded(actorOf(person), rule))
    return { added: rule.name }
  }
}

/** Returns the change of the file that adds a rule; Problem `conflict` if a rule has its name. */
export function addingRule(
  rule: PolicyRuleText,
  check: (next: PolicySnapshot) => void = () => {},
): PolicyChange {
  return {
    rule,
    before: ({ rules }) => {
      const known = rules.find(({ name }) => name === rule.name)
      if (known === undefined) return
      throw new Problem('conflict', {
        detail: `config/policy.yaml has a rule ${rule.name} in line ${known.line} already, so nothing was written`,
      })
    },
    check,
  }
}

/** The row of the audit log about an added rule. Pure. */
export function ruleAdded(actor: string, rule: PolicyRuleText): Parameters<Journal['append']>[0] {
  return {
    actor,
    action: 'policy.rule-added',
    subject: rule.name,
    detail: { verdict: rule.verdict, match: JSON.stringify(rule.match), when: rule.when ?? '' },
  }
}
