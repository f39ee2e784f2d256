import { agentApi, heartbeatResultSchema } from '@flotilla/protocol/agent-api'
import type { ResultReply } from '@flotilla/protocol/agent-api'
import { imageMaxBytes } from '@flotilla/protocol/image-type'
import { keptLimits } from '@flotilla/protocol/kept-api'
import type { AgentConnection } from './agent-connection.ts'
import { callDeadlineMs, createAgentLine, unavailable } from './agent-line.ts'
import type { AgentLineDeps } from './agent-line.ts'

/** The time limit of one health check of an agent, in milliseconds. */
const healthDeadlineMs = 5000
/** Time limit for sending 50 MB into a container with a small processor share, milliseconds. */
const uploadDeadlineMs = 300_000
/** Time limit for reading the largest allowed file out of a container with a small processor share, milliseconds. */
const downloadDeadlineMs = 60_000

/** Creates the connection to an agent's process; each function sends one kind of HTTP request. */
export function createAgentHttp(deps: AgentLineDeps): AgentConnection {
  const { bytes, call, callPatiently, stream, watch } = createAgentLine(deps)
  return {
    agentId: deps.agentId,
    healthy: async (signal) => {
      try {
        const send = { endpoint: 'healthz', signal, deadlineMs: healthDeadlineMs } as const
        await call(send, agentApi.healthz.response)
        return true
      } catch {
        return false
      }
    },
    started: async (doorToken, signal, onTaken) => {
      try {
        const deadlineMs = healthDeadlineMs
        const send = { endpoint: 'status', signal, proof: doorToken, deadlineMs, onTaken } as const
        return (await call(send, agentApi.status.response)).agent_id === deps.agentId
      } catch {
        return false
      }
    },
    status: (signal) => call({ endpoint: 'status', signal }, agentApi.status.response),
    mcpServers: async (signal) =>
      (await call({ endpoint: 'capabilities', signal }, agentApi.capabilities.response)).mcp_servers,
    tools: async (signal) =>
      (await call({ endpoint: 'capabilities', signal }, agentApi.capabilities.response)).tools,
    chatStream: (json, onFrame, signal) =>
      stream({ endpoint: 'chatStream', json, signal }, { runId: json.run_id, onFrame, signal }),
    heartbeat: async (json, onFrame, signal) => {
      const outcome = await stream(
        { endpoint: 'heartbeat', json, signal },
        { runId: json.run_id, onFrame, signal },
      )
      if (outcome?.status === 'complete' && !heartbeatResultSchema.safeParse(outcome.result).success) {
        throw unavailable(deps.agentId, new Error('a heartbeat ended without an outcome'))
      }
      return outcome
    },
    heartbeatContext: (signal) =>
      call({ endpoint: 'heartbeatContext', signal }, agentApi.heartbeatContext.response),
    task: async (assignment, signal) => {
      const reply = await call({ endpoint: 'task', json: assignment, signal }, agentApi.task.response)
      return reply.accepted
    },
    invoke: async (request, signal) => {
      const reply = await call({ endpoint: 'invoke', json: request, signal }, agentApi.invoke.response)
      return reply.accepted
    },
    steer: async (request, signal) => {
      const reply = await call({ endpoint: 'chatSteer', json: request, signal }, agentApi.chatSteer.response)
      return reply.accepted
    },
    watch: (runId, onFrame, signal) =>
      watch({ endpoint: 'frames', query: { run_id: runId }, signal }, { runId, onFrame, signal }),
    result: async (runId, waitSeconds, signal): Promise<ResultReply> => {
      const query = { run_id: runId, wait_s: String(waitSeconds) }
      const deadlineMs = waitSeconds * 1000 + callDeadlineMs
      const send = { endpoint: 'result', query, signal, deadlineMs } as const
      const reply = await callPatiently(send, agentApi.result.response)
      if (reply.state === 'finished' && reply.result.run_id !== runId) {
        throw unavailable(deps.agentId, new Error('the agent answered with the result of another run'))
      }
      return reply
    },
    cancel: async (runId, fence, signal) => {
      await call({ endpoint: 'cancel', json: { run_id: runId, fence }, signal }, agentApi.cancel.response)
    },
    chatSessions: (signal) => call({ endpoint: 'chatSessions', signal }, agentApi.chatSessions.response),
    chatHistory: ({ session, limit }, signal) => {
      const query = { session, limit: String(limit) }
      return call({ endpoint: 'chatHistory', query, signal }, agentApi.chatHistory.response)
    },
    chatReset: (session, signal) =>
      call({ endpoint: 'chatReset', json: { session }, signal }, agentApi.chatReset.response),
    listFolder: (path, signal) =>
      call({ endpoint: 'fileList', query: { path }, signal }, agentApi.fileList.response),
    readFile: (path, signal) =>
      bytes(
        { endpoint: 'fileRead', params: { path }, signal, deadlineMs: downloadDeadlineMs },
        keptLimits.fileReadMaxBytes,
      ),
    readPicture: (sha256, signal) =>
      bytes(
        { endpoint: 'pictureRead', params: { sha256 }, signal, deadlineMs: downloadDeadlineMs },
        imageMaxBytes,
      ),
    facts: ({ words, before, limit }, signal) => {
      const query = { words, limit: String(limit), ...(before === undefined ? {} : { before }) }
      return call({ endpoint: 'memoryList', query, signal }, agentApi.memoryList.response)
    },
    forgetFact: async (fact, signal) => {
      const send = { endpoint: 'memoryForget', params: { fact }, signal } as const
      return (await call(send, agentApi.memoryForget.response)).was_there
    },
    workspaceFiles: async (signal) =>
      (await call({ endpoint: 'workspaceList', signal }, agentApi.workspaceList.response)).files,
    writeFile: async (path, content, signal) => {
      const send = { endpoint: 'fileWrite', params: { path }, bytes: content, signal } as const
      await call({ ...send, deadlineMs: uploadDeadlineMs }, agentApi.fileWrite.response)
    },
    readWorkspaceFile: async (name, signal) => {
      const send = { endpoint: 'workspaceRead', params: { file: name }, signal } as const
      return (await call(send, agentApi.workspaceRead.response)).content
    },
    writeWorkspaceFile: async (name, content, signal) => {
      const send = { endpoint: 'workspaceWrite', params: { file: name }, json: { content }, signal } as const
      await call(send, agentApi.workspaceWrite.response)
    },
  }
}
