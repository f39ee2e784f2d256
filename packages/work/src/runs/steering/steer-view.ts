import type { Origin } from '@flotilla/protocol/origin'
import { steererPerson } from '@flotilla/protocol/steer'
import type { SteerMessage, SteerView } from '@flotilla/protocol/steer'
import type { SteerRecord } from './steer-table.ts'

/** Converts a steer to the format of the API. Pure. */
export function steerView(steer: SteerRecord): SteerView {
  return {
    id: steer.id,
    agent_id: steer.agentId,
    origin: { ...steer.origin },
    text: steer.text,
    state: steer.state,
    run_id: steer.runId,
    step: steer.takenStep,
    became_run_id: steer.becameRunId,
    created_at: steer.createdAt,
    settled_at: steer.settledAt,
  }
}

/** Converts a steer to the message that its agent receives. Pure. */
export function steerMessage({ id, origin, text }: SteerRecord): SteerMessage {
  return { id, from: senderOf(origin), text }
}

/** Maximum length of a sender's name, characters; ids and names of people are shorter. */
const senderMaxChars = 64

function senderOf({ kind, user, role }: Origin): string {
  const name = (user ?? 'a person').slice(0, senderMaxChars)
  switch (kind) {
    case 'human':
      return role === undefined ? steererPerson : `${name}, a ${role} and not your owner,`
    case 'agent':
    case 'operator':
      return `agent ${name}`
    case 'watcher':
      return `the fleet, because of your watch ${name},`
    case 'system':
    case 'cron':
    case 'heartbeat':
    case 'webhook':
      return `the fleet (${kind})`
  }
}

/** Returns the steers that a request to an agent carries; empty if none exists. Pure. */
export function steersBeside(steers: readonly SteerRecord[]): { readonly steers?: SteerMessage[] } {
  return steers.length === 0 ? {} : { steers: steers.map(steerMessage) }
}
