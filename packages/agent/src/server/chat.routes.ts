import type { TaskResult } from '@flotilla/protocol/agent-api'
import type { RunSlot, Admission } from '../loop/run-slot.ts'
import { openFrameStream } from './frame-stream.ts'
import { answered } from './http-server.ts'
import type { Routes, RouteCall } from './http-server.ts'
import { parseWith } from './parse-with.ts'
import { readJson } from './read-body.ts'

/** Chat mode: a turn with its outcome, a turn as a stream, steering a running turn. */
export function chatRoutes(deps: {
  slot: RunSlot
  keepAliveMs: number
}): Pick<Routes, 'chat' | 'chatStream' | 'chatSteer'> {
  const take = async (call: RouteCall): Promise<Admission> => {
    const body = await readJson(call.request)
    const { agentApi } = await import('@flotilla/protocol/agent-api')
    const parsed = parseWith(agentApi.chat.request, body)
    const { run_id: runId, fence, message, session, task, steers = [], origin } = parsed
    return deps.slot.take({ kind: 'chat', runId, fence, message, session, task, steers, origin })
  }
  return {
    chat: async (call): Promise<TaskResult> => {
      const admission = await take(call)
      return admission.state === 'finished' ? admission.result : admission.run.ended
    },
    chatStream: async (call) => {
      const admission = await take(call)
      const stream = openFrameStream(call, deps.keepAliveMs)
      if (admission.state === 'finished') {
        stream.send({ type: 'done', result: admission.result })
        return answered
      }
      const stop = admission.run.follow(stream.send)
      call.response.on('close', stop)
      return answered
    },
    chatSteer: async (call) => {
      const body = await readJson(call.request)
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const { run_id: runId, fence, steers } = parseWith(agentApi.chatSteer.request, body)
      return { accepted: deps.slot.steer(runId, fence, steers) }
    },
  }
}
