import { createMeshModel } from '../../packages/agent/src/llm/mesh-model.ts'
import { runLoop } from '../../packages/agent/src/loop/run-loop.ts'
import { createMeshHttp } from '../../packages/agent/src/mesh/mesh-http.ts'
import { createRunMesh } from '../../packages/agent/src/mesh/run-mesh.ts'
import { systemClock } from '../../packages/agent/src/system-clock.ts'
import { aState, loopParts } from '../../packages/agent/src/testing/loop-parts.ts'
import { quietLog } from '../../packages/agent/src/testing/quiet-log.ts'
import type { Tool } from '../../packages/agent/src/tools/tool.ts'
import { doorTokenOfScout } from '../support/llm-gateway.ts'

/** Shortens the waits before retries, which a test need not wait for. */
const hastyClock = {
  now: systemClock.now,
  sleep: (ms: number, aborted?: AbortSignal) => systemClock.sleep(Math.min(ms, 5), aborted),
}

/** Executes one run of the agent loop whose model calls go through a gateway under test. */
export async function runAgentAt(rootUrl: string, model: string, tools: readonly Tool[]) {
  const http = createMeshHttp({
    host: '127.0.0.1',
    port: Number(new URL(rootUrl).port),
    doorToken: doorTokenOfScout,
    clock: systemClock,
    log: quietLog,
  })
  const mesh = createRunMesh(http, { runId: 'run_0000000000000001', fence: 1 }, () => undefined)
  const state = aState()
  const { deps } = loopParts(createMeshModel({ mesh, model, clock: hastyClock }), tools, {
    emptyRetriesMax: 0,
  })
  try {
    return { ended: await runLoop(deps, state, new AbortController().signal), state }
  } finally {
    http.close()
  }
}
