import type { Log } from '../log.ts'
import type { LanguageModel } from '../llm/language-model.ts'
import type { MeshHttp } from '../mesh/mesh-http.ts'
import { createRunMesh } from '../mesh/run-mesh.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { Crew } from '../subagents/crew.ts'
import type { HeldTools } from '../tools/held-tools.ts'
import type { Tool } from '../tools/tool.ts'
import { keepLease } from './keep-lease.ts'
import { runChatTurn } from './run-chat-turn.ts'
import type { RunContext } from './run-context.ts'
import type { PerformedRun, PerformRun, RunHooks } from './run-desk.ts'
import type { RunRequest } from './run-request.ts'
import { runTask } from './run-task.ts'
import { runTool } from './run-tool.ts'

type OfOneRun = 'inputHash' | 'stepsUsed' | 'hooks' | 'signal' | 'mesh' | 'model' | 'tools' | 'crew'
type Shared = Omit<RunContext, OfOneRun>

/** Does a run of any kind, and keeps its lease meanwhile. */
export function createPerformRun(deps: {
  shared: Shared
  meshHttp: MeshHttp
  /** So that what the run must remember has room even where its programs fill the disk. */
  keepReserve: () => Promise<void>
  /** Rejects where nothing can be written for another reason than a full disk. */
  tryState: () => Promise<void>
  modelFor: (mesh: RunMesh, held: HeldTools, hooks: Pick<RunHooks, 'onFrame'>) => LanguageModel
  /** What this run may not use; asked anew for each, since rights change while the agent lives. */
  heldFor: (mesh: RunMesh, signal: AbortSignal) => Promise<HeldTools>
  newCrew: () => Crew
  toolsFor: (run: {
    mesh: RunMesh
    held: HeldTools
    crew: Crew
    signal: AbortSignal
  }) => Promise<readonly Tool[]>
  log: Log
}): PerformRun {
  return async ({ request, inputHash, stepsUsed, hooks, signal }) => {
    const alive = new AbortController()
    const leaseSignal = AbortSignal.any([alive.signal, signal])
    const { runId, fence } = request
    const mesh = createRunMesh(deps.meshHttp, { runId, fence, ended: leaseSignal }, () => hooks.onTakenOver())
    const lease = keepLease(
      { mesh, tryState: deps.tryState, clock: deps.shared.clock, log: deps.log },
      leaseSignal,
    )
    try {
      await deps.keepReserve()
      const held = await deps.heldFor(mesh, signal)
      const crew = deps.newCrew()
      const context = {
        ...deps.shared,
        inputHash,
        stepsUsed,
        hooks,
        signal,
        mesh,
        model: deps.modelFor(mesh, held, hooks),
        crew,
        tools: await deps.toolsFor({ mesh, held, crew, signal }),
      }
      return await performKind(context, request)
    } finally {
      alive.abort()
      await lease
    }
  }
}

async function performKind(context: RunContext, request: RunRequest): Promise<PerformedRun> {
  if (request.kind === 'chat') return runChatTurn(context, request)
  if (request.kind === 'task') return runTask(context, request)
  if (request.kind === 'heartbeat') {
    const { runHeartbeat } = await import('./run-heartbeat.ts')
    return runHeartbeat(context, request)
  }
  return runTool(context, request)
}
