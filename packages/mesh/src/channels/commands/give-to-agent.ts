import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { sessionAt } from '../conversation.ts'
import { whyNoRoom } from '../intake/fair-room.ts'
import type { CommandCall, CommandDeps } from './channel-command.ts'

/**
 * Makes a run of what somebody said, and writes where its outcome goes. Joins the caller's transaction. Problems of
 * `submitRun`, and `lane-full` before any lane is where the person has more waiting than their part.
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
  requireRoom(deps, { agentId, person })
  const run = deps.runs.submitRun(caller, {
    agentId,
    input: { kind: 'chat', message: text, session: sessionAt(caller, message.place) },
    idempotencyKey: keyOf(call, agentId),
  })
  const place = { runId: run.id, channel, person, agentId, place: message.place, replyToId: message.id }
  deps.places.add(place, deps.now())
  return run.id
}

/** Throws the Problem `lane-full` where the person has more waiting at the agent than their part. */
export function requireRoom(
  { places }: Pick<CommandDeps, 'places'>,
  { agentId, person }: { readonly agentId: string; readonly person: string },
): void {
  const crowd = whyNoRoom(places.shares(agentId, person))
  if (crowd !== null) throw new Problem('lane-full', { detail: `${agentId} takes no more now: ${crowd}` })
}

/** The same message to the same agent is the same work. Pure. */
export function keyOf({ channel, message }: CommandCall, agentId: string): string {
  return `${channel}:${message.id}:${agentId}`
}
