import { heartbeatSession } from '@flotilla/protocol/heartbeat-reply'
import { Problem } from '@flotilla/protocol/problem'

/** Conversations that runs of other kinds have of their own; `sessionOf` names them. */
const reserved = [new RegExp(`^${heartbeatSession}$`), /^task:/, /^tool:/]

/**
 * Nobody begins a turn in the conversation of a task or of heartbeats: it would speak, and end work, in their name.
 * Problem `bad-request`.
 */
export function refuseReserved(session: string): void {
  if (!reserved.some((names) => names.test(session))) return
  throw new Problem('bad-request', {
    detail: `the conversation ${session} belongs to the agent's own work: steer its run while it works, or choose another name; its history can be read`,
  })
}
