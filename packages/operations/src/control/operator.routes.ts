import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { ChangeView } from '@flotilla/protocol/agent-edit'
import { operatorApi as api, operatorArchiveApi } from '@flotilla/protocol/operator-api'
import {
  operatorArchiveEndpoints,
  operatorEndpoints as endpoints,
} from '@flotilla/protocol/operator-endpoints'
import type { Caller } from '@flotilla/identity/access'
import type { WorkspaceFiles } from '@flotilla/fleet/agents'
import type { AgentSurface, Surface } from '@flotilla/identity/http'
import type { Approvals } from '@flotilla/work/approvals'
import type { Edits } from './edits/edits.ts'
import type { LifeActions } from './life-actions.ts'
import type { LookUpAgents } from './look-up-agents.ts'
import type { OperatorViews } from './operator-views.ts'
import type { OperatorActions } from './operator-actions.ts'

export interface OperatorRoutesDeps {
  readonly actions: OperatorActions
  readonly life: LifeActions
  readonly operatorViews: OperatorViews
  readonly files: Pick<WorkspaceFiles, 'read'>
  readonly lookUp: LookUpAgents
  readonly edits: Edits
  readonly approvals: Approvals
}

/** Calls with an effect are carried out once for each key, even if the connection breaks. */
export function operatorRoutes(surface: AgentSurface, deps: OperatorRoutesDeps): void {
  const { bind } = surface
  const { actions, life, lookUp, files } = deps
  bind(endpoints.tools, api.tools, ({ caller }) => ({ tools: actions.tools(caller) }))
  bind(endpoints.agentConfig, api.agentConfig, ({ caller, params }) => lookUp.config(caller, params.id))
  bind(endpoints.agentFile, api.agentFile, async ({ caller, params: { id, file } }) => ({
    file,
    content: await files.read(caller, id, file),
  }))
  bind(endpoints.agentCreate, api.agentCreate, ({ caller, body, effect }) =>
    effect({ create: body }).resumable<AgentView>((step) => actions.create(caller, body, step)),
  )
  bind(endpoints.agentRestart, api.agentRestart, ({ caller, params: { id }, effect }) =>
    effect({ restart: id }).resumable<AgentView>((step) => life.restart(caller, id, step)),
  )
  bind(endpoints.agentStop, api.agentStop, ({ caller, params: { id }, effect }) =>
    effect({ stop: id }).resumable<AgentView>((step) => life.stop(caller, id, step)),
  )
  bind(endpoints.agentHibernate, api.agentHibernate, ({ caller, params: { id }, effect }) =>
    effect({ hibernate: id }).resumable<AgentView>(() => life.hibernate(caller, id)),
  )
  bind(endpoints.agentDelete, api.agentDelete, ({ caller, params: { id }, body, effect }) =>
    effect({ delete: id, body }).local(() => actions.askToDelete(caller, id, body.reason)),
  )
  viewRoutes(surface, deps)
  changeRoutes(surface, deps)
}

function viewRoutes({ bind }: AgentSurface, { operatorViews }: OperatorRoutesDeps): void {
  bind(endpoints.agentRuns, api.agentRuns, ({ caller, params, query }) => ({
    runs: operatorViews.runsOf(caller, params.id, query.limit),
  }))
  bind(endpoints.budgets, api.budgets, ({ caller }) => ({ budgets: operatorViews.budgets(caller) }))
}

function changeRoutes({ bind }: AgentSurface, { edits, approvals }: OperatorRoutesDeps): void {
  bind(endpoints.agentEdit, api.agentEdit, ({ caller, params: { id }, body, effect }) => {
    const { resumable, key } = effect({ edit: id, body })
    return resumable<ChangeView>((step) => edits.apply(caller, id, { edit: body, idempotencyKey: key, step }))
  })
  bind(endpoints.changes, api.changes, ({ caller, query: { limit } }) => ({
    changes: edits.list(caller, { limit }),
  }))
  bind(endpoints.changeUndo, api.changeUndo, ({ caller, params: { token }, effect }) =>
    effect({ undo: token }).resumable<ChangeView>((step) => edits.undo(caller, token, step)),
  )
  bind(endpoints.pending, api.pending, ({ caller, query: { limit } }) => ({
    pending: approvals.list(caller, { open: true, limit }),
  }))
  bind(endpoints.pendingCancel, api.pendingCancel, ({ caller, params: { id }, effect }) =>
    effect({ cancel: id }).local(() => approvals.view(approvals.cancel(caller, id))),
  )
}

/** Routes that archive and restore agents; repeating a write has no effect. */
export function archiveRoutes({ bind }: Surface<Caller>, life: LifeActions): void {
  const [paths, schemas] = [operatorArchiveEndpoints, operatorArchiveApi]
  bind(paths.archived, schemas.archived, ({ caller }) => ({ agents: life.archived(caller) }))
  bind(paths.archive, schemas.archive, ({ caller, params }) => life.archive(caller, params.id))
  bind(paths.unarchive, schemas.unarchive, ({ caller, params }) => life.unarchive(caller, params.id))
}
