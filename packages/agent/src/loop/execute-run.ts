import type { Log } from '../log.ts'
import type { LanguageModel } from '../llm/language-model.ts'
import type { MeshHttp } from '../mesh/mesh-http.ts'
import { createRunMesh } from '../mesh/run-mesh.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { SubagentPool } from '../subagents/subagent-pool.ts'
import type { WithheldTools } from '../tools/withheld-tools.ts'
import type { Tool } from '../tools/tool.ts'
import { keepLease } from './keep-lease.ts'
import { runChatTurn } from './run-chat-turn.ts'
import type { RunContext } from './run-context.ts'
import type { RunHooks } from './active-run.ts'
import type { ExecutedRun, ExecuteRun } from './run-slot.ts'
import type { RunRequest } from './run-request.ts'
import { runTask } from './run-task.ts'
import { runTool } from './run-tool.ts'

type OfOneRun = 'inputHash' | 'stepsUsed' | 'hooks' | 'signal' | 'mesh' | 'model' | 'tools' | 'subagents'
type Shared = Omit<RunContext, OfOneRun>

/** Does a run of any kind, and keeps its lease meanwhile. */
export function createExecuteRun(deps: {
  shared: Shared
  meshHttp: MeshHttp
  /** So that what the run must remember has room even where its programs fill the disk. */
  keepReserve: () => Promise<void>
  /** Rejects where nothing can be written for another reason than a full disk. */
  tryState: () => Promise<void>
  modelFor: (mesh: RunMesh, withheld: WithheldTools, hooks: Pick<RunHooks, 'onFrame'>) => LanguageModel
  /** What this run may not use; asked anew for each, since rights change while the agent lives. */
  withheldFor: (mesh: RunMesh, signal: AbortSignal) => Promise<WithheldTools>
  newSubagentPool: () => SubagentPool
  toolsFor: (run: {
    mesh: RunMesh
    withheld: WithheldTools
    subagents: SubagentPool
    signal: AbortSignal
  }) => Promise<readonly Tool[]>
  log: Log
}): ExecuteRun {
  return async ({ request, inputHash, stepsUsed, hooks, signal }) => {
    const alive = new AbortController()
    const leaseSignal = AbortSignal.any([alive.signal, signal])
    const { runId, fence } = request
    const mesh = createRunMesh(deps.meshHttp, { runId, fence, ended: leaseSignal }, () => hooks.onTakenOver())
    const lease = keepLease(
      { runId, mesh, tryState: deps.tryState, clock: deps.shared.clock, log: deps.log },
      leaseSignal,
    )
    try {
      await deps.keepReserve()
      const withheld = await deps.withheldFor(mesh, signal)
      const subagents = deps.newSubagentPool()
      const context = {
        ...deps.shared,
        inputHash,
        stepsUsed,
        hooks,
        signal,
        mesh,
        model: deps.modelFor(mesh, withheld, hooks),
        subagents,
        tools: await deps.toolsFor({ mesh, withheld, subagents, signal }),
      }
      return await executeKind(context, request)
    } finally {
      alive.abort()
      await lease
    }
  }
}

async function executeKind(context: RunContext, request: RunRequest): Promise<ExecutedRun> {
  if (request.kind === 'chat') return runChatTurn(context, request)
  if (request.kind === 'task') return runTask(context, request)
  if (request.kind === 'heartbeat') {
    const { runHeartbeat } = await import('./run-heartbeat.ts')
    return runHeartbeat(context, request)
  }
  return runTool(context, request)
}
