import type { Agents } from '@flotilla/fleet/agents'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { Kernel } from '@flotilla/identity/kernel'
import type { People } from '@flotilla/identity/people'
import type { Runs } from '@flotilla/work/runs'
import type { Spending } from '@flotilla/inference/spending'
import type { Tasks } from '@flotilla/work/tasks'
import { artifactsModule } from './artifacts/index.ts'
import { blackboardModule } from './blackboard/index.ts'
import { messagesModule } from './messages/index.ts'
import { notesModule } from './notes/index.ts'
import { projectsModule } from './projects/index.ts'
import { topicsModule } from './topics/index.ts'

export interface CollaborationNeeds {
  readonly agents: Agents
  readonly runs: Runs
  readonly tasks: Tasks
  readonly people: People
  readonly spending: Pick<Spending, 'budgets'>
  /** How much of the event loop the calls of one agent may use. */
  readonly shares: { readonly calls: LoopShare }
  readonly artifactsFolder: string
}

/** Wires the modules with which agents share data, files, notes, messages, signals and projects. */
export function collaborationModules(kernel: Kernel, needs: CollaborationNeeds) {
  const { agents, runs, tasks, people, spending, shares, artifactsFolder } = needs
  return {
    blackboard: blackboardModule(kernel, { agents, runs, loop: shares.calls }),
    artifacts: artifactsModule(kernel, { agents, tasks, folder: artifactsFolder }),
    notes: notesModule(kernel),
    messages: messagesModule(kernel, { agents, runs, people }),
    topics: topicsModule(kernel, { agents }),
    projects: projectsModule(kernel, { agents, tasks, budgets: spending.budgets }),
  }
}
