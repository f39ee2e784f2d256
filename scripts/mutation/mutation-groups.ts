import { groupOfChatTrust, groupOfChannels } from './group-of-channels.ts'
import { groupOfOneMesh } from './group-of-one-mesh.ts'
import { groupsOfWallet } from './groups-of-wallet.ts'

/**
 * Groups of files that make decisions, with the tests that prove them. Wiring, routes, tables and code that
 * communicates with processes, engines and providers are left out: their mutants would test the fake and not the
 * decision.
 */
export interface MutationGroup {
  readonly name: string
  /** What goes wrong in the fleet if these decisions are wrong. */
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
  groupOfOneMesh,
  {
    name: 'conditions',
    decides: 'when an owner’s `when` holds',
    files: [
      `${mesh}/triggers/conditions/condition.ts`,
      `${mesh}/triggers/conditions/condition-tokens.ts`,
      `${mesh}/triggers/conditions/parse-condition.ts`,
    ],
    tests: [`${mesh}/triggers/conditions/*.test.ts`],
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
      `${mesh}/approvals/equal-effects.ts`,
      `${mesh}/approvals/settle-approval.ts`,
    ],
    tests: [`${mesh}/approvals/*.test.ts`, `${mesh}/wallet/payments/equal-payments.test.ts`],
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
      `${agent}/loop/execute-tool-calls.test.ts`,
    ],
  },
  {
    name: 'sanitizer',
    decides: 'what of a stranger’s text reaches a model',
    files: [`${protocol}/sanitize-for-prompt.ts`],
    tests: [`${protocol}/sanitize-for-prompt.test.ts`],
  },
  {
    name: 'messages',
    decides: 'who gets what agents ask each other, and where their talk ends',
    files: [
      `${mesh}/collaboration/messages/answer-message.ts`,
      `${mesh}/collaboration/messages/choose-recipient.ts`,
      `${mesh}/collaboration/messages/send-message.ts`,
    ],
    tests: [`${mesh}/collaboration/messages/*.test.ts`],
  },
  {
    name: 'access',
    decides: 'who may do what',
    files: [
      `${mesh}/access/at-terminal.ts`,
      `${mesh}/access/authorize.ts`,
      `${mesh}/access/budget-ceiling.ts`,
      `${mesh}/access/field-decisions.ts`,
      `${mesh}/access/hold-ceiling.ts`,
      `${mesh}/access/operator-ceiling.ts`,
      `${mesh}/access/role-decision.ts`,
      `${mesh}/access/wallet-decision.ts`,
      `${mesh}/access/wallet-limits.ts`,
      `${mesh}/access/within-parent.ts`,
      `${mesh}/spawning/child-record.ts`,
    ],
    tests: [
      `${mesh}/access/at-terminal.test.ts`,
      `${mesh}/access/authorize*.test.ts`,
      `${mesh}/access/budget-ceiling.test.ts`,
      `${mesh}/access/hold-ceiling.test.ts`,
      `${mesh}/access/operator-ceiling*.test.ts`,
      `${mesh}/access/role-decision.test.ts`,
      `${mesh}/access/wallet-decision.test.ts`,
      `${mesh}/access/within-parent.test.ts`,
      `${mesh}/spawning/child-record.test.ts`,
    ],
  },
  {
    name: 'patterns',
    decides: 'which names the entry of a list means',
    files: [`${mesh}/access/glob.ts`, `${mesh}/access/pattern-automaton.ts`],
    tests: [`${mesh}/access/glob.test.ts`, `${mesh}/access/pattern-cost.test.ts`],
  },
  {
    name: 'spending',
    decides: 'which model call there is money for, and what it took',
    files: [
      `${mesh}/models/gateway/answer-bounds.ts`,
      `${mesh}/models/gateway/estimate.ts`,
      `${mesh}/models/catalog/free-because.ts`,
      `${mesh}/spending/money.ts`,
      `${mesh}/spending/budget-limits.ts`,
      `${mesh}/spending/reservation.ts`,
      `${mesh}/spending/reservations.ts`,
      `${mesh}/spending/settled-writer.ts`,
      `${mesh}/spending/run-tokens.ts`,
      `${mesh}/spending/take-reservation.ts`,
    ],
    tests: [
      `${mesh}/models/gateway/answer-bounds.test.ts`,
      `${mesh}/models/gateway/answers-at-once.test.ts`,
      `${mesh}/spending/holds.test.ts`,
      `${mesh}/models/gateway/estimate.test.ts`,
      `${mesh}/spending/money.test.ts`,
      `${mesh}/models/providers/on-this-machine.test.ts`,
      `${mesh}/spending/budget-limits.test.ts`,
      `${mesh}/spending/limits-of-calls.test.ts`,
      `${mesh}/spending/reservations.test.ts`,
      `${mesh}/spending/run-tokens.test.ts`,
      `${mesh}/spending/settle-ledger.test.ts`,
    ],
  },
  {
    name: 'spelling',
    decides: 'whose bytes go on to a provider as they came',
    files: [`${mesh}/models/formats/spelling.ts`],
    tests: [`${mesh}/models/formats/spelling.test.ts`],
  },
  {
    name: 'replies',
    decides: 'where an answer of a provider ends',
    files: [`${mesh}/models/providers/reply-reader.ts`],
    tests: [`${mesh}/models/providers/reply-reader.test.ts`],
  },
  {
    name: 'schedules',
    decides: 'when a trigger is due, and what of a missed time is made up for',
    files: [
      `${mesh}/triggers/cron/cron-schedule.ts`,
      `${mesh}/triggers/cron/operator-heartbeat.ts`,
      `${mesh}/triggers/cron/plan-dues.ts`,
      `${mesh}/triggers/cron/read-schedule.ts`,
      `${mesh}/triggers/cron/wall-time.ts`,
      `${mesh}/triggers/cron/zone-offset.ts`,
      `${mesh}/triggers/heartbeat/decide-heartbeat.ts`,
      `${mesh}/triggers/heartbeat/heartbeat-jobs.ts`,
      `${mesh}/triggers/heartbeat/probes.ts`,
      `${mesh}/triggers/watch/seen-files.ts`,
    ],
    tests: [
      `${mesh}/triggers/cron/clock-changes.test.ts`,
      `${mesh}/triggers/cron/cron-schedule.test.ts`,
      `${mesh}/triggers/cron/read-schedule.test.ts`,
      `${mesh}/triggers/cron/plan-dues.test.ts`,
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
      `${mesh}/credentials/credential-tiers.ts`,
      `${mesh}/credentials/credential-value.ts`,
      `${mesh}/credentials/fill-handles.ts`,
      `${protocol}/secret-text/find-patterns.ts`,
      `${mesh}/credentials/handles.ts`,
      `${mesh}/credentials/host-pattern.ts`,
      `${protocol}/secret-text/scrub.ts`,
    ],
    tests: [
      `${mesh}/credentials/credential-tiers.test.ts`,
      `${mesh}/credentials/credential-value.test.ts`,
      `${mesh}/credentials/fill-handles.test.ts`,
      `${protocol}/secret-text/find-patterns.test.ts`,
      `${mesh}/credentials/handles.test.ts`,
      `${mesh}/credentials/host-pattern.test.ts`,
      `${mesh}/credentials/scrub.test.ts`,
      `${mesh}/credentials/vault.test.ts`,
    ],
  },
  {
    name: 'egress',
    decides: 'which addresses of the world are reached, and with which headers',
    files: [
      `${mesh}/egress/policy/address-ranges.ts`,
      `${mesh}/egress/policy/destination.ts`,
      `${mesh}/egress/fetch/follow-redirects.ts`,
      `${mesh}/egress/fetch/hop-by-hop.ts`,
      `${mesh}/egress/policy/host-list.ts`,
      `${mesh}/egress/policy/check-destination.ts`,
      `${mesh}/egress/fetch/next-hop.ts`,
      `${mesh}/egress/policy/private-exceptions.ts`,
      `${mesh}/egress/fetch/request-headers.ts`,
    ],
    tests: [
      `${mesh}/egress/policy/address-ranges.test.ts`,
      `${mesh}/egress/policy/destination.test.ts`,
      `${mesh}/egress/fetch/follow-redirects.test.ts`,
      `${mesh}/egress/fetch/forward-request.test.ts`,
      `${mesh}/egress/policy/host-list.test.ts`,
      `${mesh}/egress/policy/check-destination.test.ts`,
      `${mesh}/egress/fetch/next-hop.test.ts`,
      `${mesh}/egress/policy/private-exceptions.test.ts`,
      `${mesh}/egress/fetch/redirect-chain.test.ts`,
      `${mesh}/egress/fetch/request-headers.test.ts`,
    ],
  },
  {
    name: 'lifecycle',
    decides: 'what an agent’s life comes to',
    files: [`${mesh}/agents/registry/agent-state.ts`, `${mesh}/agents/registry/restart-backoff.ts`],
    tests: [
      `${mesh}/agents/registry/agent-state.test.ts`,
      `${mesh}/agents/registry/restart-backoff.test.ts`,
      `${mesh}/agents/lifecycle/quarantine.test.ts`,
      `${mesh}/agents/lifecycle/broken-off.test.ts`,
    ],
  },
  {
    name: 'tasks',
    decides: 'what may be done with a task, and by whom',
    files: [
      `${protocol}/task-actions.ts`,
      `${mesh}/tasks/move-task.ts`,
      `${mesh}/tasks/review-task.ts`,
      `${mesh}/tasks/task-access.ts`,
    ],
    tests: [
      `${protocol}/task-actions.test.ts`,
      `${mesh}/tasks/move-task.test.ts`,
      `${mesh}/tasks/people-tasks.test.ts`,
      `${mesh}/tasks/review-task.test.ts`,
      `${mesh}/tasks/task-access.test.ts`,
      `${mesh}/tasks/team-tasks.test.ts`,
    ],
  },
  {
    name: 'spawning',
    decides: 'how many agents agents make, how deep, and for how long',
    files: [`${mesh}/spawning/spawn-bounds.ts`],
    tests: [`${mesh}/spawning/spawn-bounds.test.ts`],
  },
  ...groupsOfWallet,
  {
    name: 'templates',
    decides: 'what a file from anywhere may grant a fleet',
    files: [`${mesh}/templates/hold-template.ts`, `${mesh}/templates/hold-watchers.ts`],
    tests: [`${mesh}/templates/hold-template.test.ts`, `${mesh}/templates/hold-watchers.test.ts`],
  },
  {
    name: 'people',
    decides: 'who is who at the people’s API, as what, and who proved it anew',
    files: [
      `${mesh}/people/manage-people.ts`,
      `${mesh}/people/owner-proof.ts`,
      `${mesh}/people/prove-owner.ts`,
      `${protocol}/people.ts`,
    ],
    tests: [
      `${mesh}/people/manage-people.test.ts`,
      `${mesh}/people/owner-proof.test.ts`,
      `${mesh}/people/people.test.ts`,
      `${mesh}/people/prove-owner.test.ts`,
      `${protocol}/people.test.ts`,
    ],
  },
  {
    name: 'ledger',
    decides: 'what becomes of a run, once',
    files: [
      `${mesh}/runs/dispatch/lease.ts`,
      `${mesh}/runs/conversation.ts`,
      `${mesh}/runs/ledger/run-record.ts`,
      `${mesh}/runs/ledger/change-run.ts`,
    ],
    tests: [
      `${mesh}/runs/ledger.test.ts`,
      `${mesh}/runs/dispatch/lease.test.ts`,
      `${mesh}/runs/ledger/change-run.test.ts`,
      `${mesh}/runs/ledger/outcome-of.test.ts`,
      `${mesh}/runs/conversation.test.ts`,
      `${mesh}/runs/ledger/run-record.test.ts`,
      `${mesh}/runs/ledger/settle-run.test.ts`,
    ],
  },
  {
    name: 'projects',
    decides: 'what agents of one project keep from those of another',
    files: [`${mesh}/access/project-walls.ts`],
    tests: [`${mesh}/access/project-walls.test.ts`, `${mesh}/collaboration/projects/projects.test.ts`],
  },
  groupOfChannels,
  groupOfChatTrust,
]
