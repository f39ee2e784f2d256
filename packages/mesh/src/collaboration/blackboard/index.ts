import type { Kernel, MeshModule, Metric } from '../../kernel/index.ts'
import { blackboardAgentRoutes } from './agent.routes.ts'
import { createBlackboard } from './blackboard.ts'
import type { Blackboard } from './blackboard.ts'
import { blackboardPeopleRoutes } from './people.routes.ts'

export type { Blackboard } from './blackboard.ts'
export type { CrossProjectCounts } from './cross-project-counts.ts'

interface Agents {
  find(agentId: string): { readonly project: string | null } | null
  list(): readonly { readonly id: string }[]
}

/** Entries that agents share. */
export function blackboardModule(
  kernel: Kernel,
  { agents }: { readonly agents: Agents },
): MeshModule<Blackboard> {
  const { hooks, log } = kernel
  const blackboard = createBlackboard({
    ...kernel,
    projectOf: (agentId) => agents.find(agentId)?.project ?? null,
  })
  hooks.agentDeleted.subscribe(blackboard.crossProject.forget)
  hooks.entriesPromoted.subscribe(({ runId, agentId, entries }) => {
    const { refused } = blackboard.promote(agentId, entries)
    if (refused.length > 0)
      log.warn(
        { runId, agentId, refused },
        'entries that a run promoted were refused; the run goes on without them',
      )
  })
  return {
    api: blackboard,
    routes: {
      people: (surface) => blackboardPeopleRoutes(surface, blackboard),
      agent: (surface) => blackboardAgentRoutes(surface, blackboard),
    },
    metrics: () => [crossProjectMetric(blackboard, agents)],
    maintain: () => void blackboard.sweep(),
  }
}

function crossProjectMetric({ crossProject }: Blackboard, agents: Agents): Metric {
  return {
    name: 'flotilla_blackboard_xproject_count',
    kind: 'counter',
    description: 'Uses of the part of the blackboard of a project that is not the own, by agent',
    samples: agents
      .list()
      .flatMap(({ id }) =>
        Object.entries(crossProject.of(id)).map(([way, value]) => ({ labels: { agent: id, way }, value })),
      ),
  }
}
