import type { Credentials } from '@flotilla/egress/credentials'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { Agents } from '@flotilla/fleet/agents'
import { rootOf } from '@flotilla/identity/events'
import type { CheckEffect, PolicyStore, PolicyUse } from '@flotilla/identity/policy'
import type { InferenceKernel } from '@flotilla/inference/events'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { Runs } from '@flotilla/work/runs'
import { createAddRule } from './add-rule.ts'
import { createAllowAlways } from './allow-always.ts'
import { createListStops } from './list-stops.ts'
import { createReachOfCredential } from './reach-of-credential.ts'
import { createShowPolicy } from './show-policy.ts'
import { createTryPolicy } from './try-policy.ts'

export interface PolicyDeskNeeds {
  readonly agents: Pick<Agents, 'registry'>
  readonly approvals: ApprovalDesk
  readonly runs: Pick<Runs, 'queries'>
  readonly policy: Pick<PolicyStore, 'snapshot' | 'edit' | 'tryEdit' | 'tryText'>
  readonly policyUse: Pick<PolicyUse, 'hits' | 'stops'>
  readonly checkEffect: CheckEffect
  /** Takes turns on the event loop with other work. */
  readonly loop: Pick<LoopShare, 'inSteps'>
  readonly credentials: Pick<Credentials, 'hostsOf'>
}

/** What people do with config/policy.yaml. */
export function policyDesk(kernel: InferenceKernel, needs: PolicyDeskNeeds) {
  const { registry } = needs.agents
  const { identityEvents } = kernel
  const projectOf = (agentId: string) =>
    identityEvents.projectOf.ask(rootOf(identityEvents, agentId))[0]?.name ?? null
  const shared = { ...kernel, ...needs, projectOf }
  return {
    ...createShowPolicy({ ...shared, agents: registry }),
    add: createAddRule(shared),
    always: createAllowAlways({ ...shared, runs: needs.runs.queries }),
    test: createTryPolicy(shared),
    stops: createListStops(shared),
    reach: createReachOfCredential({
      ...shared,
      hostsOf: needs.credentials.hostsOf,
      serversOf: registry.mcpServers.of,
      rootOf: (agentId) => rootOf(identityEvents, agentId),
      requireAgent: (agentId) => void registry.require(agentId),
    }),
  }
}

export type PolicyDesk = ReturnType<typeof policyDesk>
