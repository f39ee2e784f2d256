import { Problem } from '@flotilla/protocol/problem'
import type { ImageStore } from '../images/image-store.ts'
import type { RunSlot } from '../loop/run-slot.ts'
import type { Sessions } from '../loop/sessions.ts'
import { answered } from './http-server.ts'
import type { Routes } from './http-server.ts'
import { parseWith } from './parse-with.ts'
import { readJson } from './read-body.ts'

/** The agent's conversations, for people: list, read, delete. */
export function conversationRoutes(deps: {
  slot: RunSlot
  sessions: Sessions
  images: () => Promise<Pick<ImageStore, 'find'>>
}): Pick<Routes, 'chatReset' | 'chatHistory' | 'chatSessions' | 'pictureRead'> {
  return {
    chatReset: async (call) => {
      const body = await readJson(call.request)
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const { session } = parseWith(agentApi.chatReset.request, body)
      const { speaksIn } = await import('../loop/run-request.ts')
      const active = deps.slot.current()
      if (active && speaksIn(active.request) === session) {
        throw new Problem('conflict', {
          detail: `Run ${active.request.runId} is using this conversation; try again after it has ended.`,
        })
      }
      return { session, archived_messages: await deps.sessions.reset(session) }
    },
    chatHistory: async (call) => {
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const { session, limit } = parseWith(agentApi.chatHistory.query, Object.fromEntries(call.query))
      const { sessionHistory } = await import('../loop/session-history.ts')
      return sessionHistory(session, await deps.sessions.load(session), limit)
    },
    pictureRead: async ({ response, params }) => {
      const bytes = await (await deps.images()).find(params['sha256'] ?? '')
      if (!bytes)
        throw new Problem('not-found', { detail: 'The picture is not stored, or no longer stored.' })
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes.length })
      response.end(bytes)
      return answered
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
