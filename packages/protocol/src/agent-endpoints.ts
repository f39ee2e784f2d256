import type { Endpoint } from './endpoint.ts'

/**
 * What an agent serves on port 8400. Plain values without schemas, so that an agent starts without the schema
 * library; `agent-api.ts` has the schemas under the same names. All endpoints but `healthz` require the mesh's token.
 */
export const agentEndpoints = {
  healthz: { method: 'GET', path: '/healthz', summary: 'Answers 200 once a chat posted now would be taken' },
  task: {
    method: 'POST',
    path: '/task',
    summary: 'Assigns a TaskAssignment; answers before the work is done',
  },
  chat: { method: 'POST', path: '/chat', summary: 'One chat turn; answers with the outcome' },
  chatStream: { method: 'POST', path: '/chat/stream', summary: 'One chat turn as server-sent events' },
  chatSteer: { method: 'POST', path: '/chat/steer', summary: 'Says something to the run that goes on' },
  chatSessions: { method: 'GET', path: '/chat/sessions', summary: 'The conversations that are remembered' },
  chatHistory: { method: 'GET', path: '/chat/history', summary: 'One conversation, the newest messages' },
  chatReset: {
    method: 'POST',
    path: '/chat/reset',
    summary: 'Archives and forgets the conversation of a session',
  },
  cancel: { method: 'POST', path: '/cancel', summary: 'Aborts a run' },
  invoke: {
    method: 'POST',
    path: '/invoke',
    summary: 'Calls one tool without a model; answers before it ends',
  },
  status: { method: 'GET', path: '/status', summary: 'What the agent is doing' },
  frames: { method: 'GET', path: '/frames', summary: 'What the current run does, as server-sent events' },
  result: { method: 'GET', path: '/result', summary: 'The outcome of a run; may wait for it' },
  capabilities: { method: 'GET', path: '/capabilities', summary: 'The tools as the model sees them' },
  workspaceList: { method: 'GET', path: '/workspace', summary: 'The workspace files' },
  workspaceRead: { method: 'GET', path: '/workspace/{file}', summary: 'One workspace file' },
  workspaceWrite: { method: 'PUT', path: '/workspace/{file}', summary: 'Writes one workspace file' },
  heartbeat: { method: 'POST', path: '/heartbeat', summary: 'One heartbeat as server-sent events' },
  heartbeatContext: { method: 'GET', path: '/heartbeat-context', summary: 'What a heartbeat needs to know' },
  fileWrite: { method: 'PUT', path: '/files/{*path}', summary: 'Stores raw bytes below /data' },
  fileRead: { method: 'GET', path: '/files/{*path}', summary: 'Reads raw bytes below /data' },
  pictureRead: {
    method: 'GET',
    path: '/pictures/{sha256}',
    summary: 'The bytes of a picture that it looked at',
  },
  fileList: { method: 'GET', path: '/files', summary: 'One folder below /data' },
  memoryList: { method: 'GET', path: '/memory', summary: 'What is remembered, newest first' },
  memoryForget: { method: 'DELETE', path: '/memory/{fact}', summary: 'Forgets one fact' },
} as const satisfies Record<string, Endpoint>

export type AgentEndpointName = keyof typeof agentEndpoints
