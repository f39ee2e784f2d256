import { agentIdSchema, runIdSchema, taskIdSchema } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { ToolUseCases } from '../introspection/agent.routes.ts'
import type { ArtifactRow } from '../collaboration/artifacts/artifact-table.ts'
import type { MeshParts } from './compose-parts.ts'
import { usdFromNano } from '../spending/money.ts'
import { leftIn, potsOf, resetsAt } from '../spending/pots.ts'
import type { Pot } from '../spending/pots.ts'
import { utcDay } from '../spending/spend-table.ts'
import { fullName, resolveModel } from '../models/catalog/resolve-model.ts'
import { createRefusedTools } from '../access/refused-tools.ts'
import type { RefusedTool } from '../access/refused-tools.ts'
import { systemClock } from '../platform/system-clock.ts'

/** What agents' tools ask of the mesh, in the words of the agent door. */
export function toolUseCases(parts: MeshParts): ToolUseCases {
  const { artifacts, egress, guard, ledger, modelDoor } = parts
  const refusedTools = createRefusedTools(parts)
  return {
    held: (caller) => ({
      refused: withSearch([...refusedTools(caller)], egress.requireSearch),
      sees_images: seesImages(parts, caller.agentId),
    }),
    self: (caller) => {
      const { agentId, run } = caller
      guard(caller, { do: 'act-for-self', agentId })
      const now = systemClock.now()
      // What the last call cost may still wait to be written.
      modelDoor.gate.flush()
      const project = modelDoor.book.budgetOf(agentId).project?.name ?? null
      const sources = { ...modelDoor, budgetOf: modelDoor.book.budgetOf, treeOf: ledger.treeOf }
      return {
        agent_id: agentIdSchema.parse(agentId),
        now: new Date(now).toISOString(),
        model: modelOf(parts, agentId),
        run: run && {
          id: runIdSchema.parse(run.runId),
          task_id: run.taskId === null ? null : taskIdSchema.parse(run.taskId),
          origin: run.origin.kind,
        },
        queued: ledger.laneOf(agentId).queued,
        pots: potsOf(sources, { agentId, project, run }, utcDay(now)).map(potView),
      }
    },
    webSearch: egress.webSearch,
    listArtifacts: (caller, agentId) => {
      const { rows, more } = artifacts.listOf(caller, agentId)
      return { artifacts: rows.map(artifactView), more }
    },
    readArtifact: async (caller, agentId, name) => {
      const { row, content } = await artifacts.read(caller, agentId, name)
      return { ...artifactView(row), content_base64: content.toString('base64') }
    },
  }
}

/** A search that nobody has set up would be refused to everybody. */
function withSearch(refused: RefusedTool[], requireSearch: () => void): RefusedTool[] {
  if (refused.some(({ tool }) => tool === 'web_search')) return refused
  try {
    requireSearch()
    return refused
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return [...refused, { tool: 'web_search', reason: error.detail }]
  }
}

function modelOf({ fleet, catalog }: MeshParts, agentId: string): string | null {
  return fleet.modelInUse(agentId) ?? catalog.defaultModel()
}

/** The owner's word alone: no public list says it well. */
function seesImages(parts: MeshParts, agentId: string): boolean | null {
  const wanted = modelOf(parts, agentId)
  const name = wanted === null ? null : resolveModel(wanted, parts.catalog.defaultProvider())
  if (name === null) return null
  const { models } = parts.settings.current()
  const id = fullName(name)
  return (Object.hasOwn(models, id) ? models[id]?.images : undefined) ?? null
}

function potView(pot: Pot) {
  return {
    name: pot.name,
    scope: pot.scope,
    limit_usd: usdFromNano(pot.limitNano),
    spent_usd: usdFromNano(pot.spentNano),
    left_usd: usdFromNano(Math.max(0, leftIn(pot))),
    resets_at: resetsAt(pot.period),
  }
}

function artifactView(row: ArtifactRow) {
  return {
    agent_id: agentIdSchema.parse(row.agentId),
    name: row.name,
    description: row.description,
    size_bytes: row.sizeBytes,
    sha256: row.sha256,
    saved_at: row.savedAt,
  }
}
