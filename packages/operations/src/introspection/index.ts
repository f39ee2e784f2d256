import { agentIdSchema, runIdSchema, taskIdSchema } from '@flotilla/protocol/ids'
import { browserActionNames, browserToolName } from '@flotilla/protocol/browser-actions'
import { Problem } from '@flotilla/protocol/problem'
import { keptApi, keptEndpoints } from '@flotilla/protocol/kept-api'
import { toolApi as api, toolEndpoints as endpoints } from '@flotilla/protocol/tool-api'
import type * as z from 'zod'
import type { PermissionStore, RefusedTool } from '@flotilla/identity/access'
import { createRefusedTools } from '@flotilla/identity/access'
import type { AgentCaller } from '@flotilla/identity/http'
import type { Agents } from '@flotilla/fleet/agents'
import type { Browsers } from '@flotilla/browsing'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { Egress } from '@flotilla/egress/egress'
import type { Models } from '@flotilla/inference/models'
import type { Runs } from '@flotilla/work/runs'
import type { Spending } from '@flotilla/inference/spending'
import { createAgentUse } from './agent-use.ts'
import type { InferenceKernel } from '@flotilla/inference/events'

type Self = z.input<(typeof api)['self']['response']>

interface Needs {
  readonly permissions: PermissionStore
  readonly agents: Pick<Agents, 'registry' | 'measureUse'>
  readonly runs: Pick<Runs, 'queue' | 'lifecycle'>
  readonly models: Pick<Models, 'modelOf' | 'seesImages' | 'windowOf'>
  readonly spending: Pick<Spending, 'costs'>
  readonly requireSearch: Egress['requireSearch']
  readonly browsers: Browsers
}

export interface Introspection {
  /** Returns the highest use of an agent in the last hour as a sentence; null if nothing was measured. */
  peakWords(agentId: string): string | null
}

/**
 * What an agent can ask about itself, and what people see of its resource use. It changes nothing, so no call needs
 * an idempotency key.
 */
export function introspectionModule(kernel: InferenceKernel, needs: Needs): MeshModule<Introspection> {
  const { guard, clock, fleetEvents, workEvents } = kernel
  const { models, spending, requireSearch, runs, browsers } = needs
  const refusedTools = createRefusedTools({ ...kernel, ...needs })

  const use = createAgentUse({
    guard,
    clock,
    agents: needs.agents.registry,
    measureUse: needs.agents.measureUse,
    runOf: (agentId) => runs.lifecycle.live.liveRunOf(agentId)?.runId ?? null,
    windowOf: models.windowOf,
  })
  const unsubscribe = kernel.events.subscribe(use.handleEvent)
  fleetEvents.agentDeleted.subscribe(use.forget)

  function self(caller: AgentCaller): Self {
    const { agentId, run } = caller
    guard(caller, { do: 'act-for-self', agentId })
    // Has open costs written first, because the cost of the last call may not be stored yet.
    workEvents.costsRequested.publish()
    return {
      agent_id: agentIdSchema.parse(agentId),
      now: new Date(clock.now()).toISOString(),
      model: models.modelOf(agentId),
      run: run && {
        id: runIdSchema.parse(run.runId),
        task_id: run.taskId === null ? null : taskIdSchema.parse(run.taskId),
        origin: run.origin.kind,
      },
      queued: runs.queue.laneOf(agentId).queued,
      pots: spending.costs.limitsOf(agentId, run),
    }
  }

  return {
    api: { peakWords: use.peakWords },
    close: unsubscribe,
    // So that the use of the last hour is known without an open page.
    maintain: use.sampleNow,
    routes: {
      people: ({ bind }) =>
        bind(keptEndpoints.fleetUse, keptApi.fleetUse, async ({ caller }) => ({
          agents: await use.list(caller),
        })),
      agent: ({ bind }) => {
        bind(endpoints.toolsHeld, api.toolsHeld, ({ caller }) => ({
          refused: withMissing(refusedTools(caller), [
            { tools: ['web_search'], require: requireSearch },
            { tools: browserActionNames.map(browserToolName), require: browsers.require },
          ]),
          sees_images: models.seesImages(caller.agentId),
        }))
        bind(endpoints.self, api.self, ({ caller }) => self(caller))
      },
    },
  }
}

/** Adds the tools that this machine is not set up for: the mesh refuses them to every caller. */
function withMissing(
  refused: readonly RefusedTool[],
  needed: readonly { readonly tools: readonly string[]; readonly require: () => void }[],
): readonly RefusedTool[] {
  return needed.reduce((all, { tools, require }) => {
    const others = tools.filter((tool) => all.every((one) => one.tool !== tool))
    if (others.length === 0) return all
    try {
      require()
      return all
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const reason = error.detail
      return [...all, ...others.map((tool) => ({ tool, reason }))]
    }
  }, refused)
}
