import { Problem } from '@flotilla/protocol/problem'
import type { RunSlot } from '../loop/run-slot.ts'
import type { RunRequest } from '../loop/run-request.ts'
import { openFrameStream } from './frame-stream.ts'
import { answered } from './http-server.ts'
import type { Routes } from './http-server.ts'
import { parseWith } from './parse-with.ts'
import { readJson } from './read-body.ts'

/** Work that is accepted now and queried later: tasks and single tools, their outcomes, and stopping them. */
export function runRoutes(deps: {
  slot: RunSlot
  keepAliveMs: number
}): Pick<Routes, 'task' | 'invoke' | 'cancel' | 'frames' | 'result'> {
  const { slot } = deps
  const accept = async (request: RunRequest) => {
    try {
      const admission = await slot.take(request)
      return { accepted: true, status: admission.state }
    } catch (error) {
      if (error instanceof Problem && error.code === 'agent-busy') return { accepted: false, status: 'busy' }
      throw error
    }
  }
  return {
    task: async (call) => {
      const body = await readJson(call.request)
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const assignment = parseWith(agentApi.task.request, body)
      return accept({ kind: 'task', runId: assignment.run_id, fence: assignment.fence, assignment })
    },
    invoke: async (call) => {
      const body = await readJson(call.request)
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const { run_id: runId, fence, tool, params, origin } = parseWith(agentApi.invoke.request, body)
      return accept({ kind: 'tool', runId, fence, tool, params, origin })
    },
    cancel: async (call) => {
      const body = await readJson(call.request)
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const { run_id: runId, fence } = parseWith(agentApi.cancel.request, body)
      return { cancelled: slot.cancel(runId, fence) }
    },
    frames: async (call) => {
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const query = parseWith(agentApi.frames.query, Object.fromEntries(call.query))
      const active = slot.current()
      if (active?.request.runId !== query.run_id)
        throw new Problem('not-found', { detail: 'The agent is not working on this run.' })
      const stop = active.follow(openFrameStream(call, deps.keepAliveMs).send)
      call.response.on('close', stop)
      return answered
    },
    result: async (call) => {
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const query = parseWith(agentApi.result.query, Object.fromEntries(call.query))
      return slot.result(query.run_id, (query.wait_s ?? 0) * 1000)
    },
  }
}
