import { sessionNameMaxChars, terminalSession } from '@flotilla/protocol/chat-history'
import { heartbeatSession } from '@flotilla/protocol/heartbeat-reply'
import type { Origin } from '@flotilla/protocol/origin'
import { Problem } from '@flotilla/protocol/problem'
import type { RunRecord } from './lifecycle/run-record.ts'

/**
 * The conversation of whoever names none: the owner's terminal has its own, everybody else one for each channel and person, so
 * that two people on one channel never read each other's words. Pure.
 */
export function defaultSession({ channel, user }: Origin): string {
  if (channel === 'cli' && user === undefined) return terminalSession
  return (user === undefined ? channel : `${channel}:${user}`).slice(0, sessionNameMaxChars)
}

/** The conversation that a run speaks in; every turn of it, and every attempt, speaks in the same. */
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
