import { controlApi as api, controlEndpoints as endpoints } from '@flotilla/protocol/control-api'
import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import { keptApi, keptEndpoints } from '@flotilla/protocol/kept-api'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import type { AgentAdmin } from '@flotilla/fleet/agents'
import { idempotencyKeyIn } from '@flotilla/identity/http'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { AgentViews } from '@flotilla/inference/spending'
import type { Edits } from './edits/edits.ts'
import type { LifeActions } from './life-actions.ts'
import type { PolicyDesk } from './policy/policy-desk.ts'
import { policyPeopleRoutes } from './policy/people.routes.ts'
import type { LookUpAgents } from './look-up-agents.ts'

interface ControlRoutesDeps {
  readonly agents: Pick<AgentAdmin, 'create' | 'delete'>
  readonly views: AgentViews
  readonly life: LifeActions
  readonly lookUp: LookUpAgents
  readonly policy: PolicyDesk
  readonly edits: Edits
  /** Notices about parts of an edit that have no effect. */
  readonly noticesOf: (agentId: string, edit: AgentEdit) => readonly string[]
}

export function controlPeopleRoutes(surface: PeopleSurface, deps: ControlRoutesDeps): void {
  agentRoutes(surface, deps)
  policyPeopleRoutes(surface, deps.policy)
  changeRoutes(surface, deps)
}

function agentRoutes({ bind }: PeopleSurface, { agents, views, life, lookUp }: ControlRoutesDeps): void {
  const [paths, schemas] = [meshHumanEndpoints, meshHumanApi]
  bind(paths.agentCreate, schemas.agentCreate, async ({ caller, body: { budget, ...rest }, reply }) => {
    const limits = budget && { dailyUsd: budget.daily_usd, monthlyUsd: budget.monthly_usd }
    const { id } = await agents.create(caller, { ...rest, budget: limits })
    void reply.code(201)
    return views.of(id)
  })
  bind(paths.agentRestart, schemas.agentRestart, ({ caller, params }) => life.restart(caller, params.id))
  bind(endpoints.agentStop, api.agentStop, ({ caller, params }) => life.stop(caller, params.id))
  bind(endpoints.agentHibernate, api.agentHibernate, ({ caller, params }) =>
    life.hibernate(caller, params.id),
  )
  bind(endpoints.agentConfig, api.agentConfig, ({ caller, params }) => lookUp.config(caller, params.id))
  bind(endpoints.agentDelete, api.agentDelete, async ({ caller, params }) => {
    await agents.delete(caller, params.id)
    return { deleted: params.id }
  })
  bind(endpoints.agentArchive, api.agentArchive, ({ caller, params }) => life.archive(caller, params.id))
  bind(endpoints.agentUnarchive, api.agentUnarchive, ({ caller, params }) =>
    life.unarchive(caller, params.id),
  )
  bind(keptEndpoints.permissionOrigins, keptApi.permissionOrigins, ({ caller, params }) =>
    lookUp.permissionOrigins(caller, params.id),
  )
  bind(endpoints.permissionsExplain, api.permissionsExplain, ({ caller, params, query }) =>
    lookUp.explain(caller, { ...query, agentId: params.id, resource: query.resource ?? null }),
  )
}

function changeRoutes({ bind }: PeopleSurface, { edits, noticesOf }: ControlRoutesDeps): void {
  bind(endpoints.agentEdit, api.agentEdit, async ({ caller, raw, params, body }) => {
    const view = await edits.apply(caller, params.id, { edit: body, ...idempotencyKeyIn(raw) })
    return { ...view, notices: [...noticesOf(params.id, body)] }
  })
  bind(endpoints.changes, api.changes, ({ caller, query: { agent, limit } }) => ({
    changes: edits.list(caller, { agentId: agent, limit }),
  }))
  bind(endpoints.changeUndo, api.changeUndo, ({ caller, params }) => edits.undo(caller, params.token))
}
