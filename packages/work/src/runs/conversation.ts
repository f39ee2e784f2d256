import { sessionNameMaxChars, terminalSession } from '@flotilla/protocol/chat-history'
import { heartbeatSession } from '@flotilla/protocol/heartbeat-reply'
import type { Origin } from '@flotilla/protocol/origin'
import { Problem } from '@flotilla/protocol/problem'
import type { RunRecord } from './ledger/run-record.ts'

/**
 * Returns the session of a caller that names none. The owner's terminal has its own session; every other caller has
 * one for each channel and user, so that two people on one channel never see each other's messages. Pure.
 */
export function defaultSession({ channel, user }: Origin): string {
  if (channel === 'cli' && user === undefined) return terminalSession
  return (user === undefined ? channel : `${channel}:${user}`).slice(0, sessionNameMaxChars)
}

/** Returns the session of a run. All its turns and attempts use the same one. */
export function sessionOf(run: RunRecord): string {
  switch (run.input.kind) {
    case 'chat':
      return run.input.session
    case 'task':
      return `task:${run.input.task_id}`
    case 'heartbeat':
      return heartbeatSession
    case 'tool':
      return `tool:${run.id}`
  }
}

/** Name patterns of the sessions of runs that are not chats; `sessionOf` builds these names. */
const reserved = [new RegExp(`^${heartbeatSession}$`), /^task:/, /^tool:/]

/**
 * Rejects a chat in the session of a task or of heartbeats, because its messages could continue and end that work.
 * Problem `bad-request`.
 */
export function refuseReserved(session: string): void {
  if (!reserved.some((names) => names.test(session))) return
  throw new Problem('bad-request', {
    detail: `the conversation ${session} belongs to a task or trigger of the agent, so you can only read it. Send a message to its run while the agent works (flotilla steer), or choose another conversation name`,
  })
}
