import type { Log } from '@flotilla/protocol/json-log'
import type { MeshHttp } from '../mesh/mesh-http.ts'
import { createRunMesh } from '../mesh/run-mesh.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { FileWatch } from '../files/file-watch.ts'
import { keepLease } from './keep-lease.ts'
import { runChatTurn } from './run-chat-turn.ts'
import type { RunContext, RunEquipment, RunRules, RunStores } from './loop-deps.ts'
import type { RunHooks } from './active-run.ts'
import type { ExecutedRun, ExecuteRun } from './run-slot.ts'
import { speaksIn } from './run-request.ts'
import type { RunRequest } from './run-request.ts'
import { runTask } from './run-task.ts'
import { runTool } from './run-tool.ts'

/** Executes a run of any kind, and renews its lease meanwhile. */
export function createExecuteRun(deps: {
  shared: RunStores & RunRules
  meshHttp: MeshHttp
  /** Reserves room for the run's state, even if its programs fill the disk. */
  keepReserve: () => Promise<void>
  /** Rejects if nothing can be written for any reason but a full disk. */
  tryState: () => Promise<void>
  /** Returns the run's loop, model and tools; called for each run, because permissions change while the agent runs. */
  equip: (
    mesh: RunMesh,
    run: { readonly hooks: Pick<RunHooks, 'onFrame'>; readonly conversation: string | null },
    signal: AbortSignal,
  ) => Promise<RunEquipment>
  /** Watches what a run changes below /data, and passes its frames on. */
  watchFiles: (kind: RunRequest['kind'], onFrame: RunHooks['onFrame']) => Promise<FileWatch>
  log: Log
}): ExecuteRun {
  return async ({ request, inputHash, stepsUsed, hooks: told, signal }) => {
    const watch = await deps.watchFiles(request.kind, told.onFrame)
    const hooks = { ...told, onFrame: watch.onFrame }
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
      const equipment = await deps.equip(mesh, { hooks, conversation: speaksIn(request) }, signal)
      return await executeKind(
        { ...deps.shared, ...equipment, inputHash, stepsUsed, hooks, signal, mesh },
        request,
      )
    } finally {
      watch.end()
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
