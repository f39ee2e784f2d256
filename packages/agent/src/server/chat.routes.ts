import type { ChatFrame, TaskResult } from '@flotilla/protocol/agent-api'
import { wireLimits } from '@flotilla/protocol/limits'
import type { RunDesk, Taking } from '../loop/run-desk.ts'
import type { Sessions } from '../loop/sessions.ts'
import { answered } from './http-server.ts'
import type { Routes, RouteCall } from './http-server.ts'
import { parseWith } from './parse-with.ts'
import { readJson } from './read-body.ts'

/** Words that a listener does not take are dropped beyond this; the last frame holds the whole answer anyway. */
const unreadMaxBytes = 1024 * 1024

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
      const stream = openStream(call)
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

function openStream({ response }: RouteCall): { send: (frame: ChatFrame) => void } {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  response.flushHeaders()
  const keepAlive = setInterval(() => response.write(': keepalive\n\n'), wireLimits.keepAliveMs)
  response.on('close', () => clearInterval(keepAlive))
  return {
    send: (frame) => {
      if (response.destroyed || response.writableEnded) return
      if (frame.type !== 'done' && response.writableLength > unreadMaxBytes) return
      response.write(`data: ${JSON.stringify(frame)}\n\n`)
      if (frame.type === 'done') response.end()
    },
  }
}
