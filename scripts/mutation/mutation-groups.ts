/**
 * The files that decide, by what they decide, and the tests that hold them. Wiring, routes, tables and what speaks
 * to processes, engines and providers stay out: there a mutant says more about the stand-in than about the test.
 */
export interface MutationGroup {
  readonly name: string
  /** What goes wrong in the fleet when these decide wrongly. */
  readonly decides: string
  readonly files: readonly string[]
  readonly tests: readonly string[]
}

const mesh = 'packages/mesh/src'
const agent = 'packages/agent/src'
const protocol = 'packages/protocol/src'

export const mutationGroups: readonly MutationGroup[] = [
  {
    name: 'paths',
    decides: 'which paths of an agent’s tools stay inside /data',
    files: [`${agent}/files/data-path.ts`, `${agent}/files/walk-path.ts`],
    tests: [`${agent}/files/data-path.test.ts`, `${agent}/files/walk-path.test.ts`],
  },
  {
    name: 'conditions',
    decides: 'when an owner’s `when` holds',
    files: [
      `${mesh}/conditions/condition.ts`,
      `${mesh}/conditions/condition-words.ts`,
      `${mesh}/conditions/parse-condition.ts`,
    ],
    tests: [`${mesh}/conditions/*.test.ts`],
  },
  {
    name: 'skills',
    decides: 'which source that a model wrote may run',
    files: [
      `${mesh}/skills/check-imports.ts`,
      `${mesh}/skills/check-names.ts`,
      `${mesh}/skills/check-skill.ts`,
      `${mesh}/skills/declared-names.ts`,
      `${mesh}/skills/walk-nodes.ts`,
    ],
    tests: [`${mesh}/skills/check*.test.ts`],
  },
  {
    name: 'approvals',
    decides: 'what happens only after a person said so',
    files: [
      `${mesh}/approvals/approval-record.ts`,
      `${mesh}/approvals/ask-approval.ts`,
      `${mesh}/approvals/cancel-approval.ts`,
      `${mesh}/approvals/confirm-approval.ts`,
      `${mesh}/approvals/settle-approval.ts`,
    ],
    tests: [`${mesh}/approvals/*.test.ts`],
  },
  {
    name: 'loops',
    decides: 'when an agent that repeats itself is warned, blocked and ended',
    files: [
      `${agent}/loop/loop-detection.ts`,
      `${agent}/loop/loop-state.ts`,
      `${agent}/loop/round-budget.ts`,
      `${agent}/loop/time-limit.ts`,
    ],
    tests: [
      `${agent}/loop/loop-*.test.ts`,
      `${agent}/loop/round-budget.test.ts`,
      `${agent}/loop/time-limit.test.ts`,
      `${agent}/loop/run-calls.test.ts`,
    ],
  },
  {
    name: 'sanitizer',
    decides: 'what of a stranger’s text reaches a model',
    files: [`${protocol}/sanitize-for-prompt.ts`],
    tests: [`${protocol}/sanitize-for-prompt.test.ts`],
  },
  {
    name: 'access',
    decides: 'who may do what',
    files: [
      `${mesh}/policy/at-terminal.ts`,
      `${mesh}/policy/authorize.ts`,
      `${mesh}/policy/budget-ceiling.ts`,
      `${mesh}/policy/field-decisions.ts`,
      `${mesh}/policy/hold-ceiling.ts`,
      `${mesh}/policy/operator-ceiling.ts`,
      `${mesh}/policy/wallet-decision.ts`,
    ],
    tests: [
      `${mesh}/policy/at-terminal.test.ts`,
      `${mesh}/policy/authorize*.test.ts`,
      `${mesh}/policy/budget-ceiling.test.ts`,
      `${mesh}/policy/hold-ceiling.test.ts`,
      `${mesh}/policy/operator-ceiling*.test.ts`,
      `${mesh}/policy/wallet-decision.test.ts`,
    ],
  },
  {
    name: 'patterns',
    decides: 'which names the entry of a list means',
    files: [`${mesh}/policy/glob.ts`],
    tests: [`${mesh}/policy/glob.test.ts`],
  },
  {
    name: 'spending',
    decides: 'which model call there is money for, and what it took',
    files: [
      `${mesh}/llm/answer-bounds.ts`,
      `${mesh}/llm/estimate.ts`,
      `${mesh}/llm/free-because.ts`,
      `${mesh}/llm/money.ts`,
      `${mesh}/llm/pots.ts`,
      `${mesh}/llm/reserve-settle.ts`,
      `${mesh}/llm/run-tokens.ts`,
    ],
    tests: [
      `${mesh}/llm/answer-bounds.test.ts`,
      `${mesh}/llm/answers-at-once.test.ts`,
      `${mesh}/llm/credits.test.ts`,
      `${mesh}/llm/estimate.test.ts`,
      `${mesh}/llm/money.test.ts`,
      `${mesh}/llm/on-this-machine.test.ts`,
      `${mesh}/llm/one-pot.test.ts`,
      `${mesh}/llm/pots.test.ts`,
      `${mesh}/llm/reserve-settle.test.ts`,
      `${mesh}/llm/run-tokens.test.ts`,
      `${mesh}/llm/settle-ledger.test.ts`,
    ],
  },
  {
    name: 'schedules',
    decides: 'when a trigger is due, and what of a missed time is made up for',
    files: [
      `${mesh}/triggers/cron/cron-schedule.ts`,
      `${mesh}/triggers/cron/due-times.ts`,
      `${mesh}/triggers/cron/operator-heartbeat.ts`,
      `${mesh}/triggers/cron/plan-dues.ts`,
      `${mesh}/triggers/cron/zone-offset.ts`,
      `${mesh}/triggers/heartbeat/decide-heartbeat.ts`,
      `${mesh}/triggers/heartbeat/held-job.ts`,
      `${mesh}/triggers/heartbeat/probes.ts`,
      `${mesh}/triggers/watch/seen-files.ts`,
    ],
    tests: [
      `${mesh}/triggers/cron/cron-schedule.test.ts`,
      `${mesh}/triggers/cron/read-schedule.test.ts`,
      `${mesh}/triggers/cron/due-times.test.ts`,
      `${mesh}/triggers/cron/heartbeat-lock.test.ts`,
      `${mesh}/triggers/cron/operator-heartbeat.test.ts`,
      `${mesh}/triggers/cron/zone-offset.test.ts`,
      `${mesh}/triggers/heartbeat/decide-heartbeat.test.ts`,
      `${mesh}/triggers/heartbeat/heartbeat-schedule.test.ts`,
      `${mesh}/triggers/heartbeat/probes.test.ts`,
      `${mesh}/triggers/watch/seen-files.test.ts`,
    ],
  },
  {
    name: 'credentials',
    decides: 'which secret goes where, and that none comes back',
    files: [
      `${mesh}/vault/credential-tiers.ts`,
      `${mesh}/vault/credential-value.ts`,
      `${mesh}/vault/fill-handles.ts`,
      `${mesh}/vault/find-needles.ts`,
      `${mesh}/vault/handles.ts`,
      `${mesh}/vault/host-pattern.ts`,
      `${mesh}/vault/scrub.ts`,
    ],
    tests: [
      `${mesh}/vault/credential-tiers.test.ts`,
      `${mesh}/vault/credential-value.test.ts`,
      `${mesh}/vault/fill-handles.test.ts`,
      `${mesh}/vault/find-needles.test.ts`,
      `${mesh}/vault/handles.test.ts`,
      `${mesh}/vault/host-pattern.test.ts`,
      `${mesh}/vault/scrub.test.ts`,
      `${mesh}/vault/vault.test.ts`,
    ],
  },
  {
    name: 'egress',
    decides: 'which addresses of the world are reached, and with which headers',
    files: [
      `${mesh}/egress/address-ranges.ts`,
      `${mesh}/egress/destination.ts`,
      `${mesh}/egress/follow-redirects.ts`,
      `${mesh}/egress/hop-by-hop.ts`,
      `${mesh}/egress/host-list.ts`,
      `${mesh}/egress/judge-destination.ts`,
      `${mesh}/egress/next-hop.ts`,
      `${mesh}/egress/private-exceptions.ts`,
      `${mesh}/egress/request-headers.ts`,
    ],
    tests: [
      `${mesh}/egress/address-ranges.test.ts`,
      `${mesh}/egress/destination.test.ts`,
      `${mesh}/egress/follow-redirects.test.ts`,
      `${mesh}/egress/forward-request.test.ts`,
      `${mesh}/egress/host-list.test.ts`,
      `${mesh}/egress/judge-destination.test.ts`,
      `${mesh}/egress/next-hop.test.ts`,
      `${mesh}/egress/private-exceptions.test.ts`,
      `${mesh}/egress/redirect-chain.test.ts`,
      `${mesh}/egress/request-headers.test.ts`,
    ],
  },
  {
    name: 'ledger',
    decides: 'what becomes of a run, once',
    files: [
      `${mesh}/runs/lease.ts`,
      `${mesh}/runs/move-run.ts`,
      `${mesh}/runs/outcome-of.ts`,
      `${mesh}/runs/reserved-session.ts`,
      `${mesh}/runs/run-record.ts`,
      `${mesh}/runs/settle-run.ts`,
    ],
    tests: [
      `${mesh}/runs/ledger.test.ts`,
      `${mesh}/runs/lease.test.ts`,
      `${mesh}/runs/move-run.test.ts`,
      `${mesh}/runs/outcome-of.test.ts`,
      `${mesh}/runs/reserved-session.test.ts`,
      `${mesh}/runs/run-record.test.ts`,
      `${mesh}/runs/settle-run.test.ts`,
    ],
  },
]
