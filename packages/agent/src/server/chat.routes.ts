import type { TaskResult } from '@flotilla/protocol/agent-api'
import { Problem } from '@flotilla/protocol/problem'
import type { RunSlot, Admission } from '../loop/run-slot.ts'
import type { Sessions } from '../loop/sessions.ts'
import { openFrameStream } from './frame-stream.ts'
import { answered } from './http-server.ts'
import type { Routes, RouteCall } from './http-server.ts'
import { parseWith } from './parse-with.ts'
import { readJson } from './read-body.ts'

/** Chat mode: a turn with its outcome, a turn as a stream, words to a run at work, what was said, forgetting. */
export function chatRoutes(deps: {
  slot: RunSlot
  keepAliveMs: number
  sessions: Sessions
}): Pick<Routes, 'chat' | 'chatStream' | 'chatSteer' | 'chatReset' | 'chatHistory' | 'chatSessions'> {
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
    chatReset: async (call) => {
      const body = await readJson(call.request)
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const { session } = parseWith(agentApi.chatReset.request, body)
      const { speaksIn } = await import('../loop/run-request.ts')
      const active = deps.slot.current()
      if (active && speaksIn(active.request) === session) {
        throw new Problem('conflict', { detail: `${active.request.runId} speaks in this conversation.` })
      }
      return { session, archived_messages: await deps.sessions.reset(session) }
    },
    chatHistory: async (call) => {
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const { session, limit } = parseWith(agentApi.chatHistory.query, Object.fromEntries(call.query))
      const { sessionHistory } = await import('../loop/session-history.ts')
      return sessionHistory(session, await deps.sessions.load(session), limit)
    },
    chatSessions: async () => {
      const { sessions, total } = await deps.sessions.list()
      const listed = sessions.map(({ session, messages, updatedAt, taskId }) => ({
        session,
        messages,
        updated_at: updatedAt,
        task_id: taskId,
      }))
      return { sessions: listed, total }
    },
  }
}
