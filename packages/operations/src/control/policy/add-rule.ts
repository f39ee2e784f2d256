import type { PolicyRuleText } from '@flotilla/protocol/policy-api'
import { Problem } from '@flotilla/protocol/problem'
import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { addToYamlList } from '@flotilla/foundation/config'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import { proposeRule } from '@flotilla/identity/policy'
import type { PolicyStore } from '@flotilla/identity/policy'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { RunQueries } from '@flotilla/work/runs'

/**
 * Changes of config/policy.yaml by its owner, at the terminal or the dashboard. Problems `denied`, `human-only`, and
 * `unprocessable` if the file with the rule would be invalid or one of its cases would fail.
 */
export interface AddRule {
  add(caller: Caller, rule: PolicyRuleText): Promise<{ readonly added: string }>
  /** Adds the narrowest rule for the effect of an approval, and confirms the approval. Problems of both. */
  always(
    caller: Caller,
    approval: { readonly id: string; readonly digest: string },
  ): Promise<{ readonly rule: PolicyRuleText; readonly approval: ApprovalView }>
}

export function createAddRule(deps: {
  readonly guard: Guard
  readonly policy: Pick<PolicyStore, 'edit' | 'snapshot'>
  readonly approvals: Pick<ApprovalDesk, 'effectOf' | 'read' | 'confirm' | 'view'>
  readonly runs: Pick<RunQueries, 'chainOf'>
  readonly journal: Journal
}): AddRule {
  const { approvals } = deps

  async function add(caller: Caller, rule: PolicyRuleText): Promise<{ readonly added: string }> {
    deps.guard(caller, { do: 'manage-credentials' })
    const person = requireAtTerminal(caller, 'add a rule to config/policy.yaml')
    const isKnown = deps.policy.snapshot().rules.some(({ name }) => name === rule.name)
    // The name of a proposed rule contains the digest of what it allows.
    if (!isKnown) await deps.policy.edit((text) => addToYamlList(text, 'rules', rule))
    deps.journal.append({
      actor: actorOf(person),
      action: 'policy.rule-added',
      subject: rule.name,
      detail: { verdict: rule.verdict, match: JSON.stringify(rule.match), when: rule.when ?? '' },
    })
    return { added: rule.name }
  }

  return {
    add,
    always: async (caller, { id, digest }) => {
      deps.guard(caller, { do: 'manage-credentials' })
      const person = requireAtTerminal(caller, 'allow an action always')
      const view = approvals.read(person, id)
      const found = approvals.effectOf(id)
      const origins =
        found?.runId == null ? undefined : deps.runs.chainOf(found.runId).map(({ origin }) => origin.kind)
      const rule =
        found === null
          ? null
          : proposeRule(found.agentId, found.details, {
              rule: found.rule,
              reason: `Allowed always by ${actorOf(person)} with ${id}.`,
              ...(origins === undefined ? {} : { origins }),
            })
      if (rule === null) {
        throw new Problem('unprocessable', {
          detail: 'no rule can name this action exactly, so it cannot be allowed always; approve it once',
        })
      }
      // Confirming reports a decided, expired or changed approval, before any rule is written.
      if (view.state === 'pending' && view.digest === digest) await add(caller, rule)
      return { rule, approval: approvals.view(await approvals.confirm(person, { id, digest })) }
    },
  }
}
