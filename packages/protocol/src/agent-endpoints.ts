import type { Endpoint } from './endpoint.ts'

/**
 * What an agent serves on port 8400. Plain values without schemas, so that an agent starts without the schema
 * library; `agent-api.ts` has the schemas under the same names. All endpoints but `healthz` require the mesh's token.
 */
export const agentEndpoints = {
  healthz: { method: 'GET', path: '/healthz', summary: 'Answer 200 once the agent accepts a chat.' },
  task: {
    method: 'POST',
    path: '/task',
    summary: 'Accept a run for execution. The answer comes before the work is done.',
  },
  chat: { method: 'POST', path: '/chat', summary: 'Run one chat turn and return its outcome.' },
  chatStream: {
    method: 'POST',
    path: '/chat/stream',
    summary: 'Run one chat turn and stream it as server-sent events.',
  },
  chatSteer: { method: 'POST', path: '/chat/steer', summary: 'Add a message to the executing run.' },
  chatSessions: { method: 'GET', path: '/chat/sessions', summary: 'List the stored conversations.' },
  chatHistory: {
    method: 'GET',
    path: '/chat/history',
    summary: 'Return the newest messages of one conversation.',
  },
  chatReset: {
    method: 'POST',
    path: '/chat/reset',
    summary: 'Archive a conversation and start it empty.',
  },
  cancel: { method: 'POST', path: '/cancel', summary: 'Abort a run.' },
  invoke: {
    method: 'POST',
    path: '/invoke',
    summary: 'Call one tool without a model. The answer comes before the call ends.',
  },
  status: { method: 'GET', path: '/status', summary: 'Return what the agent is doing.' },
  frames: {
    method: 'GET',
    path: '/frames',
    summary: 'Stream the progress of the current run as server-sent events.',
  },
  result: {
    method: 'GET',
    path: '/result',
    summary: 'Return the outcome of a run, on request after waiting for it.',
  },
  capabilities: { method: 'GET', path: '/capabilities', summary: 'List the tools as the model sees them.' },
  workspaceList: { method: 'GET', path: '/workspace', summary: 'List the workspace files.' },
  workspaceRead: { method: 'GET', path: '/workspace/{file}', summary: 'Return one workspace file.' },
  workspaceWrite: { method: 'PUT', path: '/workspace/{file}', summary: 'Write one workspace file.' },
  heartbeat: {
    method: 'POST',
    path: '/heartbeat',
    summary: 'Run one heartbeat and stream it as server-sent events.',
  },
  heartbeatContext: {
    method: 'GET',
    path: '/heartbeat-context',
    summary: 'Return the data that a heartbeat needs.',
  },
  fileWrite: { method: 'PUT', path: '/files/{*path}', summary: 'Write a file below /data.' },
  fileRead: { method: 'GET', path: '/files/{*path}', summary: 'Return the bytes of a file below /data.' },
  pictureRead: {
    method: 'GET',
    path: '/pictures/{sha256}',
    summary: 'Return the bytes of an image that the agent viewed.',
  },
  fileList: { method: 'GET', path: '/files', summary: 'List one folder below /data.' },
  memoryList: { method: 'GET', path: '/memory', summary: 'List the facts in memory, newest first.' },
  memoryForget: { method: 'DELETE', path: '/memory/{fact}', summary: 'Delete one fact from memory.' },
} as const satisfies Record<string, Endpoint>

export type AgentEndpointName = keyof typeof agentEndpoints
