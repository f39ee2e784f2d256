import { createHoldCeiling } from '@flotilla/identity/access'
import type { DenialCounts, PermissionStore, RefuseAboveCeiling } from '@flotilla/identity/access'
import type { AgentRegistry, Agents, RequireModel } from '@flotilla/fleet/agents'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { Runs } from '@flotilla/work/runs'
import { approvalKinds } from './approval-kinds.ts'
import { createEdits } from './edits/edits.ts'
import type { Edits } from './edits/edits.ts'
import type { AgentViews, Spending } from '@flotilla/inference/spending'
import { createLifeActions } from './life-actions.ts'
import { createLookUpAgents } from './look-up-agents.ts'
import { policyDesk } from './policy/policy-desk.ts'
import type { PolicyDeskNeeds } from './policy/policy-desk.ts'
import { createOperatorViews } from './operator-views.ts'
import { createOperatorActions } from './operator-actions.ts'
import { archiveRoutes, operatorRoutes } from './operator.routes.ts'
import { controlPeopleRoutes } from './people.routes.ts'
import type { InferenceKernel } from '@flotilla/inference/events'

/** Makes and undoes the edits of people and of the operator. */
export interface Control {
  readonly edits: Edits
}

interface Needs extends PolicyDeskNeeds {
  readonly agents: Agents
  readonly approvals: ApprovalDesk
  readonly runs: Pick<Runs, 'queries' | 'queue'>
  readonly permissions: PermissionStore
  readonly denials: DenialCounts
  readonly refuseAbove: RefuseAboveCeiling
  readonly requireModel: RequireModel
  readonly spending: Pick<Spending, 'budgets'>
  readonly views: AgentViews
}

/** Wires the module for actions of people and the operator on agents. */
export function controlModule(kernel: InferenceKernel, needs: Needs): MeshModule<Control> {
  const { approvals, runs, spending, views } = needs
  const { registry, admin, lifecycle, connection, briefing, files } = needs.agents
  const agents = { ...registry, ...admin, ...lifecycle, ...connection, ...briefing }
  const { fleetEvents } = kernel
  const lookUp = createLookUpAgents({ ...kernel, ...needs, agents: registry })
  const policy = policyDesk(kernel, needs)
  const holdCeiling = createHoldCeiling({ ...kernel, ...needs })
  for (const [name, kind] of Object.entries(approvalKinds(agents))) approvals.addKind(name, kind)
  const edits = createEdits({
    ...kernel,
    ...needs,
    fleet: agents,
    holdCeiling,
    setBudget: (caller, id, limits) => void spending.budgets.set(caller, { scope: 'agent', id }, limits),
  })
  const actions = createOperatorActions(kernel, { ...needs, agents, views, approvals, holdCeiling })
  const life = createLifeActions({ ...kernel, agents, views })
  const operatorViews = createOperatorViews(kernel, { ...needs, agents: registry, runs: runs.queries })
  fleetEvents.agentDeleted.subscribe(edits.forget)
  return {
    api: { edits },
    routes: {
      people: (surface) =>
        controlPeopleRoutes(surface, {
          agents,
          views,
          life,
          lookUp,
          policy,
          edits,
          noticesOf: (agentId, { field }) => noticesOfEdit(kernel, needs.agents.registry, { agentId, field }),
        }),
      operator: (surface) =>
        operatorRoutes(surface, {
          actions,
          life,
          operatorViews,
          files,
          lookUp,
          edits,
          approvals,
        }),
      operatorOrInternal: (surface) => archiveRoutes(surface, life),
    },
  }
}

function noticesOfEdit(
  { inferenceEvents }: Pick<InferenceKernel, 'inferenceEvents'>,
  registry: Pick<AgentRegistry, 'find'>,
  { agentId, field }: { readonly agentId: string; readonly field: string },
): readonly string[] {
  if (field === 'permissions') return inferenceEvents.setNotices.ask({ kind: 'permissions', agentId })
  const budget = field === 'budget' || field === 'model' ? registry.find(agentId)?.budget : undefined
  if (budget === undefined) return []
  return inferenceEvents.setNotices.ask({ kind: 'budget', name: agentId, agentId, ...budget })
}
