/** Servers, gates and the binding of endpoints. */

export { answerHeaders } from './answer-headers.ts'
export { alreadySent } from './bind-endpoint.ts'
export { isUpgrade, openEventSocket, takeLine } from './event-socket.ts'
export type { EventSocket } from './event-socket.ts'
export {
  boundAnswerChunks,
  boundRequestChunks,
  createChunkBound,
  requestsInChunks,
  tinyChunks,
} from './bound-chunks.ts'
export { createDownloadRoom } from './download-room.ts'
export { sendHeld } from './send-held.ts'
export { agentConnectionBounds, boundConnections, connectionBounds } from './bound-connections.ts'
export { clientGone } from './client-gone.ts'
export { createAgentGate } from './gates/agent-gate.ts'
export type { AgentCaller } from './gates/agent-gate.ts'
export type { DirectCallDeps } from './gates/direct-call.ts'
export type { KnownPeople } from './gates/known-people.ts'
export { createInternalGate } from './gates/internal-gate.ts'
export type { OwnHome } from './gates/meant-home.ts'
export { createPeerUsers } from './gates/peer-user.ts'
export { isFromPage } from './from-page.ts'
export { createHumanGate } from './gates/people-gate.ts'
export type { HumanGate } from './gates/people-gate.ts'
export { signSession } from './gates/session-cookie.ts'
export { idempotencyKeyIn } from './idempotency-key.ts'
export { createLinkedListener } from './link/linked-listener.ts'
export type { LinkKeyOf, LinkedListener } from './link/linked-listener.ts'
export { linkedAgentOf } from './link/linked-sockets.ts'
export { keptAliveReply } from './kept-alive-reply.ts'
export { oneRequestAtATime } from './one-request-at-a-time.ts'
export { openAgents, openInternal, openPeople, openPublic } from './open-surfaces.ts'
export { asProblem } from './problem-reply.ts'
export { createBodyReader } from './read-bounded-body.ts'
export type { AgentSurface, ModelSurface, PeopleSurface, PublicSurface, Routes, Surface } from './routes.ts'
export { openEventStream } from './server-sent-events.ts'
export { readerLifeMs } from './event-reader-limits.ts'
export type { EventStream } from './server-sent-events.ts'
export { createServer } from './server.ts'
export { takeBodies } from './take-bodies.ts'
