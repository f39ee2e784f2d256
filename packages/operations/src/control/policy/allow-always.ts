import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import type { PolicyRuleText } from '@flotilla/protocol/policy-api'
import { Problem } from '@flotilla/protocol/problem'
import { yamlText } from '@flotilla/foundation/config'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Caller, Guard, PersonAtTerminal } from '@flotilla/identity/access'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import { proposeRule } from '@flotilla/identity/policy'
import type { Effect, PolicySnapshot, PolicyStore, ProposedRule } from '@flotilla/identity/policy'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { RunQueries } from '@flotilla/work/runs'
import { addingRule, ruleAdded } from './add-rule.ts'
import { describeAllowedActions } from './describe-allowed-actions.ts'

/**
 * Approves an action and adds the narrowest rule that allows it from now on, by the owner at the terminal or the
 * dashboard.
 *
 * 1. Before anything happens, the rule is tried: with it, this action must be allowed by this rule, or nothing is
 *    approved and nothing is written.
 * 2. The rule is written only after the action was carried out. A file and a database do not commit together, so the
 *    answer says if the action was carried out and the rule could not be written.
 *
 * Problems `denied`, `human-only`, `not-found`, `unprocessable` if no rule can name the action or another rule would
 * still ask or deny, `conflict` if the rule exists, `approval-changed` if it is not the shown one, and those of
 * confirming.
 */
export interface AllowAlways {
  /** Shows the rule and what it would allow, and changes nothing. */
  show(
    caller: Caller,
    id: string,
  ): Promise<{ readonly rule: PolicyRuleText; readonly text: string; readonly allows: string[] }>
  confirm(
    caller: Caller,
    approval: { readonly id: string; readonly digest: string; readonly rule?: string | undefined },
  ): Promise<{
    readonly rule: PolicyRuleText | null
    readonly not_added: string | null
    readonly approval: ApprovalView
  }>
}

/** A rule for the action of one approval. */
interface Proposal {
  readonly rule: ProposedRule
  readonly effect: Effect
  readonly origins: readonly string[]
}

export function createAllowAlways(deps: {
  readonly guard: Guard
  readonly policy: Pick<PolicyStore, 'edit' | 'tryEdit'>
  readonly approvals: Pick<ApprovalDesk, 'effectOf' | 'read' | 'confirm' | 'view'>
  readonly runs: Pick<RunQueries, 'chainOf'>
  readonly projectOf: (agentId: string) => string | null
  readonly journal: Journal
  readonly log: Log
}): AllowAlways {
  const { approvals, policy } = deps

  function requireOwner(caller: Caller): PersonAtTerminal {
    deps.guard(caller, { do: 'manage-credentials' })
    return requireAtTerminal(caller, 'allow an action always')
  }

  function propose(person: PersonAtTerminal, id: string): Proposal {
    const found = approvals.effectOf(id)
    const chain = found?.runId == null ? [] : deps.runs.chainOf(found.runId).map(({ origin }) => origin)
    const origins = chain.map(({ kind }) => kind)
    const channels = chain.map(({ channel }) => channel)
    // Without its origins, the rule would allow the action to work of every origin.
    const rule =
      found === null || origins.length === 0
        ? null
        : proposeRule(found.agentId, found.details, {
            rule: found.rule,
            reason: `Allowed always by ${actorOf(person)} with ${id}.`,
            origins,
          })
    if (found === null || rule === null) {
      throw new Problem('unprocessable', {
        detail: 'no rule can name this action exactly, so it cannot be allowed always; approve it once',
      })
    }
    const project = deps.projectOf(found.agentId)
    const of = { agent: found.agentId, ...(project === null ? {} : { project }), origins, channels }
    return { rule, effect: { ...found.details, ...of }, origins }
  }

  const change = ({ rule, effect }: Proposal) =>
    addingRule(rule, (changed) => requireAllows(changed, rule, effect))

  /** Writes the rule; returns why it could not be written. */
  async function write(person: PersonAtTerminal, proposal: Proposal): Promise<string | null> {
    try {
      await policy.edit(change(proposal))
    } catch (error) {
      deps.log.error(
        { rule: proposal.rule.name, err: error },
        'failed to add a rule after its action was carried out; config/policy.yaml is unchanged',
      )
      const reason = error instanceof Problem ? error.detail : 'config/policy.yaml could not be written'
      return `the action was carried out, and the rule was not added: ${reason}`
    }
    deps.journal.append(ruleAdded(actorOf(person), proposal.rule))
    return null
  }

  return {
    show: async (caller, id) => {
      const person = requireOwner(caller)
      approvals.read(person, id)
      const proposal = propose(person, id)
      await policy.tryEdit(change(proposal))
      const { rule, effect, origins } = proposal
      return {
        rule,
        text: yamlText([rule]),
        allows: [...describeAllowedActions(effect.agent, proposal, origins)],
      }
    },
    confirm: async (caller, { id, digest, rule: shown }) => {
      const person = requireOwner(caller)
      const { state, digest: stored } = approvals.read(person, id)
      const proposal = propose(person, id)
      // The approval may belong to another run by now, and the rule to work of other origins.
      if (shown !== undefined && shown !== proposal.rule.name) throw ruleChanged(proposal.rule)
      // Of any other approval, confirming reports why it cannot be confirmed.
      if (state === 'pending' && stored === digest) await policy.tryEdit(change(proposal))
      const approval = approvals.view(await approvals.confirm(person, { id, digest }))
      const notAdded =
        approval.state === 'done'
          ? await write(person, proposal)
          : `the action is ${approval.state}, so no rule was added`
      return { rule: notAdded === null ? proposal.rule : null, not_added: notAdded, approval }
    },
  }
}

function ruleChanged({ name }: ProposedRule): Problem {
  return new Problem('approval-changed', {
    detail: `the rule that would be added is another one by now (${name}); nothing was approved and nothing was written`,
    repair: 'Look at the rule again, and approve it if it is right.',
  })
}

/** Problem `unprocessable` if the changed policy decides the effect by another rule. */
function requireAllows({ decide }: PolicySnapshot, { name }: ProposedRule, effect: Effect): void {
  const { verdict, rule, line } = decide(effect)
  if (verdict === 'allow' && rule === name) return
  const words = { allow: 'allows', ask: 'would still ask about', deny: 'would still deny' }[verdict]
  const by = rule === null ? 'no rule' : `the rule ${rule}${line === null ? '' : ` in line ${line}`}`
  throw new Problem('unprocessable', {
    detail: `${by} of config/policy.yaml ${words} this action, so the new rule would change nothing; nothing was written and nothing was approved`,
  })
}
