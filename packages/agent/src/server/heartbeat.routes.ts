import type { RunSlot } from '../loop/run-slot.ts'
import type { HeartbeatSources } from '../workspace/heartbeat-context.ts'
import { openFrameStream } from './frame-stream.ts'
import { answered } from './http-server.ts'
import type { Routes } from './http-server.ts'
import { parseWith } from './parse-with.ts'
import { readJson } from './read-body.ts'

/** The inputs of the decision on a heartbeat, and the heartbeat itself. */
export function heartbeatRoutes(
  deps: HeartbeatSources & { readonly slot: RunSlot; readonly keepAliveMs: number },
): Pick<Routes, 'heartbeat' | 'heartbeatContext'> {
  return {
    heartbeat: async (call) => {
      const body = await readJson(call.request)
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const parsed = parseWith(agentApi.heartbeat.request, body)
      const { run_id: runId, fence, message, continues, steers = [], origin } = parsed
      const admission = await deps.slot.take({
        kind: 'heartbeat',
        runId,
        fence,
        message,
        continues,
        steers,
        origin,
      })
      const stream = openFrameStream(call, deps.keepAliveMs)
      if (admission.state === 'finished') stream.send({ type: 'done', result: admission.result })
      else call.response.on('close', admission.run.follow(stream.send))
      return answered
    },
    heartbeatContext: async () => {
      const { readHeartbeatContext } = await import('../workspace/heartbeat-context.ts')
      return readHeartbeatContext(deps)
    },
  }
}
