import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { sessionAt } from '../conversation.ts'
import { isForwarding } from '../messages/forwarded-text.ts'
import { requireRoom } from '../messages/agent-busy.ts'
import type { CommandCall, CommandDeps } from './channel-command.ts'

/**
 * Submits a run for a message, stores where its outcome goes, and returns its id. Joins the caller's transaction.
 * Throws the Problems of `submitRun`, and `lane-full` if the person already uses their share of the lane.
 */
export function giveToAgent(
  deps: CommandDeps,
  call: CommandCall,
  given: { agentId: string; text: string },
): string {
  const { caller, channel, person, message } = call
  const { agentId, text } = given
  if (text.length > wireLimits.chatMessageMaxChars) {
    throw new Problem('bad-request', {
      detail: `a message has at most ${wireLimits.chatMessageMaxChars} characters`,
    })
  }
  requireRoom(deps.places, { agentId, person })
  const speaker = isForwarding(message) ? ({ ...caller, forwards: true } as const) : caller
  const run = deps.runs.submitRun(speaker, {
    agentId,
    input: { kind: 'chat', message: text, session: sessionAt(caller, message.place) },
    idempotencyKey: keyOf(call, agentId),
  })
  const place = { runId: run.id, channel, person, agentId, place: message.place, replyToId: message.id }
  deps.places.add(place, deps.now())
  return run.id
}

/** Returns the idempotency key: a message that is given to the same agent again starts no second run. Pure. */
export function keyOf({ channel, message }: CommandCall, agentId: string): string {
  return `${channel}:${message.id}:${agentId}`
}
