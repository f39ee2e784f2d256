import type { MeshModule, Metric } from '@flotilla/identity/kernel'
import { blackboardAgentRoutes } from './agent.routes.ts'
import { createBlackboard } from './blackboard.ts'
import type { Blackboard } from './blackboard.ts'
import { blackboardPeopleRoutes } from './people.routes.ts'

import type { LoopShare } from '@flotilla/foundation/intake'
import type { Runs } from '@flotilla/work/runs'
import { createBlackboardWatches } from './set-watch.ts'
import type { BlackboardWatches } from './set-watch.ts'
import { createNotifyWatchers } from './tell-watchers.ts'
import { createBlackboardWatchTable } from './watch-table.ts'
import type { CollaborationKernel } from '../events/index.ts'

export type { Blackboard } from './blackboard.ts'
export type { BlackboardWatches } from './set-watch.ts'
export type { CrossProjectCounts } from './cross-project-counts.ts'

interface Needs {
  readonly agents: { readonly registry: BlackboardAgents }
  readonly runs: Pick<Runs, 'queue' | 'steering' | 'queries'>
  readonly loop: LoopShare
}

interface BlackboardAgents {
  find(agentId: string): { readonly project: string | null } | null
  /** Problem `unknown-agent`. */
  require(agentId: string): unknown
  list(): readonly { readonly id: string }[]
}

/** Wires the module for entries that agents share. */
export function blackboardModule(
  kernel: CollaborationKernel,
  { agents: { registry: agents }, runs, loop }: Needs,
): MeshModule<Blackboard & { readonly watches: BlackboardWatches }> {
  const { collaborationEvents, fleetEvents, identityEvents, workEvents, log } = kernel
  const table = createBlackboardWatchTable(kernel.database)
  const watchers = createNotifyWatchers({
    ...kernel,
    loop,
    table,
    runs: { ...runs.queue, ...runs.steering, ...runs.queries },
  })
  const watches = createBlackboardWatches({
    ...kernel,
    table,
    requireAgent: (agentId) => void agents.require(agentId),
    heldBecause: watchers.heldBecause,
  })
  const blackboard = createBlackboard({
    ...kernel,
    loop,
    noteChange: watchers.note,
    projectOf: (agentId) => agents.find(agentId)?.project ?? null,
  })
  fleetEvents.agentDeleted.subscribe(blackboard.crossProject.forget)
  identityEvents.callDenied.subscribe(({ caller, action }) => {
    if (action.do === 'read-blackboard') blackboard.crossProject.count(caller, action.key, 'read')
    if (action.do === 'write-blackboard') blackboard.crossProject.count(caller, action.key, 'write')
  })
  fleetEvents.agentDeleted.subscribe((agentId) => {
    for (const watch of table.all()) if (watch.agent_id === agentId) table.remove(watch.id)
  })
  collaborationEvents.projectDeleted.subscribe((project) => {
    const own = `projects/${project}`
    blackboard.forgetProject(project)
    table.forgetChangesBelow(own)
    for (const { id, pattern } of table.all()) {
      if (pattern === own || pattern.startsWith(`${own}/`)) table.remove(id)
    }
  })
  workEvents.entriesPromoted.subscribe(({ runId, agentId, entries }) => {
    const { refused } = blackboard.promote(agentId, entries)
    if (refused.length > 0)
      log.warn(
        { runId, agentId, refused },
        'rejected blackboard entries that a run promoted; the run continues without them',
      )
  })
  return {
    api: { ...blackboard, watches },
    routes: {
      people: (surface) => blackboardPeopleRoutes(surface, { blackboard, watches }),
      agent: (surface) => blackboardAgentRoutes(surface, { blackboard, watches }),
    },
    metrics: () => [crossProjectMetric(blackboard, agents)],
    run: watchers.run,
    maintain: () => void blackboard.sweep(),
  }
}

function crossProjectMetric({ crossProject }: Blackboard, agents: BlackboardAgents): Metric {
  return {
    name: 'flotilla_blackboard_xproject_count',
    kind: 'counter',
    description: 'Rejected attempts to use the blackboard keys of another project, by agent',
    samples: agents
      .list()
      .flatMap(({ id }) =>
        Object.entries(crossProject.of(id)).map(([way, value]) => ({ labels: { agent: id, way }, value })),
      ),
  }
}
