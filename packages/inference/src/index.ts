import type { Vault } from '@flotilla/egress/credentials'
import type { Egress } from '@flotilla/egress/egress'
import type { Agents } from '@flotilla/fleet/agents'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { RefuseAboveCeiling } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { Runs } from '@flotilla/work/runs'
import type { Tasks } from '@flotilla/work/tasks'
import { modelCatalog, modelsModule, workOf } from './models/index.ts'
import type { CatalogNeeds, KnownModels } from './models/index.ts'
import { replayModule, runRecords } from './replay/index.ts'
import type { RunRecords } from './replay/index.ts'
import { createAgentViews, spendingModule } from './spending/index.ts'
import { createInferenceEvents } from './events/index.ts'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { FleetEvents } from '@flotilla/fleet/events'
import type { WorkEvents } from '@flotilla/work/events'

/** The models of the owner's providers, and the records of what runs exchange with them. */
export interface OpenedModels {
  readonly known: KnownModels
  readonly records: RunRecords
}

/** Opens the models and the records, which must exist before the agents start. */
export function openModels(kernel: Kernel, needs: OpenModelsNeeds): OpenedModels {
  const { environment, vault, envFile, cassetteFolders, refuseAbove } = needs
  const records = runRecords(kernel, { vault })
  const listen = records.recorder.wrap
  const given = { environment, vault, envFile, cassetteFolders, refuseAbove, listen }
  return { records, known: modelCatalog(kernel, given) }
}

export interface OpenModelsNeeds extends Omit<CatalogNeeds, 'listen'> {
  readonly vault: Vault
}

export interface InferenceNeeds {
  readonly identity: { readonly events: IdentityEvents }
  readonly fleet: {
    readonly events: FleetEvents
    readonly agents: Pick<Agents, 'registry' | 'lifecycle' | 'briefing'>
  }
  readonly work: {
    readonly events: WorkEvents
    readonly runs: Pick<Runs, 'queries' | 'queue' | 'lifecycle' | 'holdLease'>
    readonly tasks: Pick<Tasks, 'capsOf'>
    readonly approvals: Pick<ApprovalDesk, 'readCostsFrom'>
  }
  readonly egress: { readonly outbound: Pick<Egress, 'fetchMedia'> }
  readonly access: { readonly refuseAbove: RefuseAboveCeiling }
  readonly foundation: { readonly shares: { readonly calls: LoopShare } }
  readonly models: OpenedModels
}

/** Creates the modules of inference: money, the replay of runs, and the model gateway. */
export function inferenceModules(kernel: Kernel, needs: InferenceNeeds) {
  const { identity, fleet, work, egress, access, foundation } = needs
  const events = createInferenceEvents()
  const seen = {
    ...kernel,
    identityEvents: identity.events,
    fleetEvents: fleet.events,
    workEvents: work.events,
    inferenceEvents: events,
  }
  const { known, records } = needs.models
  const { agents } = fleet
  const { runs, tasks, approvals } = work
  const { refuseAbove } = access
  const spending = spendingModule(seen, { agents, runs, tasks, refuseAbove })
  approvals.readCostsFrom(spending.api.costs)
  const replay = replayModule(seen, { records, runs, requireModel: known.requireModel })
  const models = modelsModule(seen, {
    catalog: known.catalog,
    recorder: known.recorder,
    missingModel: known.missingModel,
    agents,
    spending: spending.api,
    standIn: replay.api.standIn,
    holdLease: runs.holdLease,
    workOf: (runId) => workOf(runs.queries, runId),
    fetchMedia: egress.outbound.fetchMedia,
    onShareOf: foundation.shares.calls.spend,
  })
  const agentViews = createAgentViews(seen, {
    agents: agents.registry,
    runs: runs.queue,
    spentTodayUsd: spending.api.costs.todayUsd,
  })
  return {
    modules: { spending, replay, models },
    events,
    spending: spending.api,
    models: models.api,
    agentViews,
  }
}
