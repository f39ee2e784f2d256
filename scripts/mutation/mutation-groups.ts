import { groupOfChatTrust, groupOfChannels } from './group-of-channels.ts'
import { groupOfOneMesh } from './group-of-one-mesh.ts'
import { groupOfPolicy } from './group-of-policy.ts'
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

export const mutationGroups: readonly MutationGroup[] = [
  {
    name: 'paths',
    decides: 'which paths of an agent’s tools stay inside /data',
    files: ['packages/agent/src/files/data-path.ts', 'packages/agent/src/files/walk-path.ts'],
    tests: ['packages/agent/src/files/data-path.test.ts', 'packages/agent/src/files/walk-path.test.ts'],
  },
  groupOfOneMesh,
  {
    name: 'conditions',
    decides: 'when an owner’s `when` holds',
    files: [
      'packages/inbound/src/triggers/conditions/condition.ts',
      'packages/inbound/src/triggers/conditions/condition-tokens.ts',
      'packages/inbound/src/triggers/conditions/parse-condition.ts',
    ],
    tests: ['packages/inbound/src/triggers/conditions/*.test.ts'],
  },
  {
    name: 'skills',
    decides: 'which source that a model wrote may run',
    files: [
      'packages/egress/src/skills/check-imports.ts',
      'packages/egress/src/skills/check-names.ts',
      'packages/egress/src/skills/check-skill.ts',
      'packages/egress/src/skills/declared-names.ts',
      'packages/egress/src/skills/walk-nodes.ts',
    ],
    tests: ['packages/egress/src/skills/check*.test.ts'],
  },
  {
    name: 'approvals',
    decides: 'what happens only after a person said so',
    files: [
      'packages/egress/src/egress/approved/approved-effect.ts',
      'packages/work/src/approvals/approval-of-run.ts',
      'packages/work/src/approvals/approval-record.ts',
      'packages/work/src/approvals/ask-approval.ts',
      'packages/work/src/approvals/cancel-approval.ts',
      'packages/work/src/approvals/confirm-approval.ts',
      'packages/work/src/approvals/equal-effects.ts',
      'packages/work/src/approvals/settle-approval.ts',
    ],
    tests: [
      'packages/egress/src/egress/approved/*.test.ts',
      'packages/egress/src/egress/fetch/approved-requests.test.ts',
      'packages/egress/src/egress/mcp/approved-calls.test.ts',
      'packages/wallet/src/payments/equal-payments.test.ts',
      'packages/work/src/approvals/*.test.ts',
    ],
  },
  groupOfPolicy,
  {
    name: 'loops',
    decides: 'when an agent that repeats itself is warned, blocked and ended',
    files: [
      'packages/agent/src/loop/loop-detection.ts',
      'packages/agent/src/loop/loop-state.ts',
      'packages/agent/src/loop/round-budget.ts',
      'packages/agent/src/loop/time-limit.ts',
    ],
    tests: [
      'packages/agent/src/loop/loop-*.test.ts',
      'packages/agent/src/loop/round-budget.test.ts',
      'packages/agent/src/loop/time-limit.test.ts',
      'packages/agent/src/loop/execute-tool-calls.test.ts',
    ],
  },
  {
    name: 'sanitizer',
    decides: 'what of a stranger’s text reaches a model',
    files: ['packages/protocol/src/sanitize-for-prompt.ts'],
    tests: ['packages/protocol/src/sanitize-for-prompt.test.ts'],
  },
  {
    name: 'messages',
    decides: 'who gets what agents ask each other, and where their talk ends',
    files: [
      'packages/collaboration/src/messages/answer-message.ts',
      'packages/collaboration/src/messages/choose-recipient.ts',
      'packages/collaboration/src/messages/send-message.ts',
    ],
    tests: ['packages/collaboration/src/messages/*.test.ts'],
  },
  {
    name: 'access',
    decides: 'who may do what',
    files: [
      'packages/identity/src/access/at-terminal.ts',
      'packages/identity/src/access/authorize.ts',
      'packages/identity/src/access/budget-ceiling.ts',
      'packages/identity/src/access/field-decisions.ts',
      'packages/identity/src/access/hold-ceiling.ts',
      'packages/identity/src/access/operator-ceiling.ts',
      'packages/identity/src/access/authorize-person.ts',
      'packages/work/src/spawning/child-record.ts',
    ],
    tests: [
      'packages/identity/src/access/at-terminal.test.ts',
      'packages/identity/src/access/authorize*.test.ts',
      'packages/identity/src/access/budget-ceiling.test.ts',
      'packages/identity/src/access/hold-ceiling.test.ts',
      'packages/identity/src/access/operator-ceiling*.test.ts',
      'packages/identity/src/access/authorize-person.test.ts',
      'packages/work/src/spawning/child-record.test.ts',
    ],
  },
  {
    name: 'spend-limits',
    decides: 'what an agent may spend, and that it never has more rights than its ancestors',
    files: [
      'packages/identity/src/access/decide-wallet-spend.ts',
      'packages/identity/src/access/effective-wallet-limits.ts',
      'packages/identity/src/access/within-parent.ts',
    ],
    tests: [
      'packages/identity/src/access/decide-wallet-spend.test.ts',
      'packages/identity/src/access/within-parent.test.ts',
    ],
  },
  {
    name: 'patterns',
    decides: 'which names the entry of a list means',
    files: ['packages/identity/src/access/glob.ts', 'packages/identity/src/access/pattern-automaton.ts'],
    tests: ['packages/identity/src/access/glob.test.ts', 'packages/identity/src/access/pattern-cost.test.ts'],
  },
  {
    name: 'spending',
    decides: 'which model call there is money for, and what it took',
    files: [
      'packages/inference/src/models/gateway/answer-bounds.ts',
      'packages/inference/src/models/gateway/estimate.ts',
      'packages/inference/src/models/catalog/free-because.ts',
      'packages/inference/src/spending/money.ts',
      'packages/inference/src/spending/budget-limits.ts',
      'packages/inference/src/spending/reservation.ts',
      'packages/inference/src/spending/reservations.ts',
      'packages/inference/src/spending/settled-writer.ts',
      'packages/inference/src/spending/run-tokens.ts',
      'packages/inference/src/spending/take-reservation.ts',
      'packages/inference/src/spending/report-tokens.ts',
    ],
    tests: [
      'packages/inference/src/models/gateway/answer-bounds.test.ts',
      'packages/inference/src/models/gateway/answers-at-once.test.ts',
      'packages/inference/src/spending/holds.test.ts',
      'packages/inference/src/models/gateway/estimate.test.ts',
      'packages/inference/src/spending/money.test.ts',
      'packages/inference/src/models/providers/on-this-machine.test.ts',
      'packages/inference/src/spending/budget-limits.test.ts',
      'packages/inference/src/spending/limits-of-calls.test.ts',
      'packages/inference/src/spending/reservations.test.ts',
      'packages/inference/src/spending/run-tokens.test.ts',
      'packages/inference/src/spending/report-tokens.test.ts',
      'packages/inference/src/spending/settle-ledger.test.ts',
    ],
  },
  {
    name: 'spelling',
    decides: 'whose bytes go on to a provider as they came',
    files: ['packages/inference/src/models/formats/spelling.ts'],
    tests: ['packages/inference/src/models/formats/spelling.test.ts'],
  },
  {
    name: 'replies',
    decides: 'where an answer of a provider ends',
    files: ['packages/inference/src/models/providers/provider-answer.ts'],
    tests: ['packages/inference/src/models/providers/provider-answer.test.ts'],
  },
  {
    name: 'schedules',
    decides: 'when a trigger is due, and what of a missed time is made up for',
    files: [
      'packages/inbound/src/triggers/cron/cron-schedule.ts',
      'packages/inbound/src/triggers/cron/operator-heartbeat.ts',
      'packages/inbound/src/triggers/cron/plan-dues.ts',
      'packages/inbound/src/triggers/cron/read-schedule.ts',
      'packages/inbound/src/triggers/cron/wall-time.ts',
      'packages/inbound/src/triggers/cron/zone-offset.ts',
      'packages/inbound/src/triggers/heartbeat/decide-heartbeat.ts',
      'packages/inbound/src/triggers/heartbeat/heartbeat-jobs.ts',
      'packages/inbound/src/triggers/heartbeat/probes.ts',
      'packages/inbound/src/triggers/watch/seen-files.ts',
    ],
    tests: [
      'packages/inbound/src/triggers/cron/clock-changes.test.ts',
      'packages/inbound/src/triggers/cron/cron-schedule.test.ts',
      'packages/inbound/src/triggers/cron/read-schedule.test.ts',
      'packages/inbound/src/triggers/cron/plan-dues.test.ts',
      'packages/inbound/src/triggers/cron/heartbeat-lock.test.ts',
      'packages/inbound/src/triggers/cron/operator-heartbeat.test.ts',
      'packages/inbound/src/triggers/cron/zone-offset.test.ts',
      'packages/inbound/src/triggers/heartbeat/decide-heartbeat.test.ts',
      'packages/inbound/src/triggers/heartbeat/heartbeat-schedule.test.ts',
      'packages/inbound/src/triggers/heartbeat/probes.test.ts',
      'packages/inbound/src/triggers/watch/seen-files.test.ts',
    ],
  },
  {
    name: 'credentials',
    decides: 'which secret goes where, and that none comes back',
    files: [
      'packages/egress/src/credentials/credential-tiers.ts',
      'packages/egress/src/credentials/credential-value.ts',
      'packages/egress/src/credentials/fill-handles.ts',
      'packages/protocol/src/secret-text/find-patterns.ts',
      'packages/egress/src/credentials/handles.ts',
      'packages/egress/src/credentials/host-pattern.ts',
      'packages/protocol/src/secret-text/scrub.ts',
    ],
    tests: [
      'packages/egress/src/credentials/credential-tiers.test.ts',
      'packages/egress/src/credentials/credential-value.test.ts',
      'packages/egress/src/credentials/fill-handles.test.ts',
      'packages/protocol/src/secret-text/find-patterns.test.ts',
      'packages/egress/src/credentials/handles.test.ts',
      'packages/egress/src/credentials/host-pattern.test.ts',
      'packages/egress/src/credentials/scrub.test.ts',
      'packages/egress/src/credentials/vault.test.ts',
    ],
  },
  {
    name: 'bindings',
    decides: 'to which hosts a credential goes, and which values are removed from what comes back',
    files: [
      'packages/egress/src/credentials/binding-file.ts',
      'packages/egress/src/credentials/redact.ts',
      'packages/egress/src/credentials/use-credentials.ts',
    ],
    tests: [
      'packages/egress/src/credentials/binding-file.test.ts',
      'packages/egress/src/credentials/credentials.test.ts',
      'packages/egress/src/credentials/redact.test.ts',
      'packages/egress/src/credentials/stored-credentials.test.ts',
    ],
  },
  {
    name: 'egress',
    decides: 'which addresses of the world are reached, and with which headers',
    files: [
      'packages/egress/src/egress/policy/public-addresses.ts',
      'packages/egress/src/egress/policy/destination.ts',
      'packages/egress/src/egress/fetch/follow-redirects.ts',
      'packages/egress/src/egress/fetch/hop-by-hop.ts',
      'packages/egress/src/egress/policy/host-list.ts',
      'packages/egress/src/egress/policy/check-destination.ts',
      'packages/egress/src/egress/fetch/next-hop.ts',
      'packages/egress/src/egress/policy/private-exceptions.ts',
      'packages/egress/src/egress/fetch/request-headers.ts',
    ],
    tests: [
      'packages/egress/src/egress/policy/public-addresses.test.ts',
      'packages/egress/src/egress/policy/destination.test.ts',
      'packages/egress/src/egress/fetch/follow-redirects.test.ts',
      'packages/egress/src/egress/fetch/forward-request.test.ts',
      'packages/egress/src/egress/policy/host-list.test.ts',
      'packages/egress/src/egress/policy/check-destination.test.ts',
      'packages/egress/src/egress/fetch/next-hop.test.ts',
      'packages/egress/src/egress/policy/private-exceptions.test.ts',
      'packages/egress/src/egress/fetch/redirect-chain.test.ts',
      'packages/egress/src/egress/fetch/request-headers.test.ts',
    ],
  },
  {
    name: 'lifecycle',
    decides: 'what an agent’s life comes to',
    files: [
      'packages/fleet/src/agents/registry/agent-state.ts',
      'packages/fleet/src/agents/registry/restart-backoff.ts',
    ],
    tests: [
      'packages/fleet/src/agents/registry/agent-state.test.ts',
      'packages/fleet/src/agents/registry/restart-backoff.test.ts',
      'packages/fleet/src/agents/lifecycle/quarantine.test.ts',
      'packages/fleet/src/agents/lifecycle/broken-off.test.ts',
    ],
  },
  {
    name: 'tasks',
    decides: 'what may be done with a task, and by whom',
    files: [
      'packages/protocol/src/task-actions.ts',
      'packages/work/src/tasks/move-task.ts',
      'packages/work/src/tasks/review-task.ts',
      'packages/work/src/tasks/task-access.ts',
    ],
    tests: [
      'packages/protocol/src/task-actions.test.ts',
      'packages/work/src/tasks/move-task.test.ts',
      'packages/work/src/tasks/people-tasks.test.ts',
      'packages/work/src/tasks/review-task.test.ts',
      'packages/work/src/tasks/task-access.test.ts',
      'packages/work/src/tasks/team-tasks.test.ts',
    ],
  },
  {
    name: 'spawning',
    decides: 'how many agents agents make, how deep, and for how long',
    files: ['packages/work/src/spawning/spawn-bounds.ts'],
    tests: ['packages/work/src/spawning/spawn-bounds.test.ts'],
  },
  ...groupsOfWallet,
  {
    name: 'templates',
    decides: 'what a file from anywhere may grant a fleet',
    files: [
      'packages/operations/src/templates/hold-template.ts',
      'packages/operations/src/templates/hold-watchers.ts',
    ],
    tests: [
      'packages/operations/src/templates/hold-template.test.ts',
      'packages/operations/src/templates/hold-watchers.test.ts',
    ],
  },
  {
    name: 'people',
    decides: 'who is who at the people’s API, as what, and who proved it anew',
    files: [
      'packages/identity/src/people/manage-people.ts',
      'packages/identity/src/people/owner-proof.ts',
      'packages/identity/src/people/prove-owner.ts',
      'packages/protocol/src/people.ts',
    ],
    tests: [
      'packages/identity/src/people/manage-people.test.ts',
      'packages/identity/src/people/owner-proof.test.ts',
      'packages/identity/src/people/people.test.ts',
      'packages/identity/src/people/prove-owner.test.ts',
      'packages/protocol/src/people.test.ts',
    ],
  },
  {
    name: 'ledger',
    decides: 'what becomes of a run, once',
    files: [
      'packages/work/src/runs/dispatch/lease.ts',
      'packages/work/src/runs/conversation.ts',
      'packages/work/src/runs/ledger/run-record.ts',
      'packages/work/src/runs/ledger/change-run.ts',
    ],
    tests: [
      'packages/work/src/runs/ledger.test.ts',
      'packages/work/src/runs/dispatch/lease.test.ts',
      'packages/work/src/runs/ledger/change-run.test.ts',
      'packages/work/src/runs/ledger/outcome-of.test.ts',
      'packages/work/src/runs/conversation.test.ts',
      'packages/work/src/runs/ledger/run-record.test.ts',
      'packages/work/src/runs/ledger/settle-run.test.ts',
    ],
  },
  {
    name: 'projects',
    decides: 'what agents of one project keep from those of another',
    files: ['packages/identity/src/access/project-walls.ts'],
    tests: [
      'packages/identity/src/access/project-walls.test.ts',
      'packages/collaboration/src/projects/projects.test.ts',
    ],
  },
  groupOfChannels,
  groupOfChatTrust,
]
