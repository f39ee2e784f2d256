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

export interface CollaborationNeeds {
  readonly identity: { readonly people: People }
  readonly fleet: { readonly agents: Agents }
  readonly work: { readonly runs: Runs; readonly tasks: Tasks }
  readonly inference: { readonly spending: Pick<Spending, 'budgets'> }
  /** How much of the event loop the calls of one agent may use. */
  readonly shares: { readonly calls: LoopShare }
  readonly artifactsFolder: string
}

/** Creates the modules with which agents share data, files, notes, messages, signals and projects. */
export function collaborationModules(kernel: Kernel, needs: CollaborationNeeds) {
  const { agents } = needs.fleet
  const { runs, tasks } = needs.work
  const { budgets } = needs.inference.spending
  const blackboard = blackboardModule(kernel, { agents, runs, loop: needs.shares.calls })
  const artifacts = artifactsModule(kernel, { agents, tasks, folder: needs.artifactsFolder })
  const notes = notesModule(kernel)
  const messages = messagesModule(kernel, { agents, runs, people: needs.identity.people })
  const topics = topicsModule(kernel, { agents })
  const projects = projectsModule(kernel, { agents, tasks, budgets })
  return {
    modules: { blackboard, artifacts, notes, messages, topics, projects },
    blackboard: blackboard.api,
    artifacts: artifacts.api,
    notes: notes.api,
    messages: messages.api,
    topics: topics.api,
    projects: projects.api,
  }
}
