import type { Agents } from '@flotilla/fleet/agents'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { Kernel } from '@flotilla/identity/kernel'
import type { People } from '@flotilla/identity/people'
import type { Spending } from '@flotilla/inference/spending'
import type { Runs } from '@flotilla/work/runs'
import type { Tasks } from '@flotilla/work/tasks'
import { artifactsModule } from './artifacts/index.ts'
import { blackboardModule } from './blackboard/index.ts'
import { messagesModule } from './messages/index.ts'
import { notesModule } from './notes/index.ts'
import { projectsModule } from './projects/index.ts'
import { topicsModule } from './topics/index.ts'
import { createCollaborationEvents } from './events/index.ts'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { FleetEvents } from '@flotilla/fleet/events'
import type { WorkEvents } from '@flotilla/work/events'
import type { EgressEvents } from '@flotilla/egress/events'

export interface CollaborationNeeds {
  readonly identity: { readonly events: IdentityEvents; readonly people: People }
  readonly fleet: { readonly events: FleetEvents; readonly agents: Agents }
  readonly work: { readonly events: WorkEvents; readonly runs: Runs; readonly tasks: Tasks }
  readonly egress: { readonly events: EgressEvents }
  readonly inference: { readonly spending: Pick<Spending, 'budgets'> }
  /** How much of the event loop the calls of one agent may use. */
  readonly foundation: { readonly shares: { readonly calls: LoopShare } }
  readonly artifactsFolder: string
}

/** Creates the modules with which agents share data, files, notes, messages, signals and projects. */
export function collaborationModules(kernel: Kernel, needs: CollaborationNeeds) {
  const events = createCollaborationEvents()
  const seen = {
    ...kernel,
    identityEvents: needs.identity.events,
    fleetEvents: needs.fleet.events,
    workEvents: needs.work.events,
    egressEvents: needs.egress.events,
    collaborationEvents: events,
  }
  const { agents } = needs.fleet
  const { runs, tasks } = needs.work
  const { budgets } = needs.inference.spending
  const blackboard = blackboardModule(seen, { agents, runs, loop: needs.foundation.shares.calls })
  const artifacts = artifactsModule(seen, { agents, tasks, folder: needs.artifactsFolder })
  const notes = notesModule(seen)
  const messages = messagesModule(seen, { agents, runs, people: needs.identity.people })
  const topics = topicsModule(seen, { agents })
  const projects = projectsModule(seen, { agents, tasks, budgets })
  return {
    modules: { blackboard, artifacts, notes, messages, topics, projects },
    events,
    blackboard: blackboard.api,
    artifacts: artifacts.api,
    notes: notes.api,
    messages: messages.api,
    topics: topics.api,
    projects: projects.api,
  }
}
