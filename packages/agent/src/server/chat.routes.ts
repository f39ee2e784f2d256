import type { TaskResult } from '@flotilla/protocol/agent-api'
import type { RunDesk, Taking } from '../loop/run-desk.ts'
import type { Sessions } from '../loop/sessions.ts'
import { openFrameStream } from './frame-stream.ts'
import { answered } from './http-server.ts'
import type { Routes, RouteCall } from './http-server.ts'
import { parseWith } from './parse-with.ts'
import { readJson } from './read-body.ts'

/** Chat mode: a turn with its outcome, a turn as a stream, forgetting. */
export function chatRoutes(deps: {
  desk: RunDesk
  sessions: Sessions
}): Pick<Routes, 'chat' | 'chatStream' | 'chatReset'> {
  const take = async (call: RouteCall): Promise<Taking> => {
    const body = await readJson(call.request)
    const { agentApi } = await import('@flotilla/protocol/agent-api')
    const { run_id: runId, fence, message, session } = parseWith(agentApi.chat.request, body)
    return deps.desk.take({ kind: 'chat', runId, fence, message, session })
  }
  return {
    chat: async (call): Promise<TaskResult> => {
      const taking = await take(call)
      return taking.state === 'finished' ? taking.result : taking.run.ended
    },
    chatStream: async (call) => {
      const taking = await take(call)
      const stream = openFrameStream(call)
      if (taking.state === 'finished') {
        stream.send({ type: 'done', result: taking.result })
        return answered
      }
      const stop = taking.run.follow(stream.send)
      call.response.on('close', stop)
      return answered
    },
    chatReset: async (call) => {
      const body = await readJson(call.request)
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const { session } = parseWith(agentApi.chatReset.request, body)
      await deps.sessions.reset(session)
      return { status: 'ok' }
    },
  }
}
