import type { Person } from '@flotilla/protocol/people'
import type { EventBus } from '@flotilla/foundation/events'
import type { RunDelivery, RunLifecycle, RunQueries, RunQueue } from '@flotilla/work/runs'
import type { CapabilityTable } from './capability-table.ts'
import type { MessageRecord, MessageTable } from './message-table.ts'
import type { CollaborationKernel } from '../events/index.ts'

/** What messages need from runs. */
export type MessageRuns = Pick<RunQueue, 'submitRun' | 'laneOf' | 'isLaneFull'> &
  Pick<RunQueries, 'chainOf' | 'requestersOf'> &
  Pick<RunLifecycle, 'live'> &
  Pick<RunDelivery, 'notifyRun' | 'takeNote'>

/** What messages need from the fleet. */
export interface MessageAgents {
  find(agentId: string): unknown
  isArchived(agentId: string): boolean
  /** Returns the reason why the agent does not work now; null if it works. */
  failureOf(agentId: string): string | null
  /** Throws the problem `unknown-agent`, or `agent-archived` for an agent that gets no work. */
  requireWorking(agentId: string): void
}

/** What messages need from the people file; always the current version. */
export interface MessagePeople {
  byName(name: string): Pick<Person, 'name' | 'role' | 'agents'> | null
}

export interface MessageDeps extends Pick<
  CollaborationKernel,
  'database' | 'clock' | 'newId' | 'guard' | 'decide' | 'journal' | 'events' | 'workEvents'
> {
  readonly agents: MessageAgents
  readonly runs: MessageRuns
  readonly people: MessagePeople
  readonly table: MessageTable
  readonly capabilities: CapabilityTable
}

/** Publishes an event about a change of a message. */
export function announceMessage(events: EventBus, message: MessageRecord): void {
  events.publish({
    type: 'message.changed',
    message_id: message.id,
    from: message.sender,
    to: message.recipient,
    capability: message.capability,
    state: message.state,
    text: message.text,
  })
}
