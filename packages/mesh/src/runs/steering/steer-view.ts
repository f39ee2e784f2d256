import { steererPerson } from '@flotilla/protocol/steer'
import type { SteerMessage, SteerView } from '@flotilla/protocol/steer'
import type { SteerRecord } from './steer-table.ts'

/** A steer as doors show it. Pure. */
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

/** A steer as its agent gets it. Pure. */
export function steerMessage({ id, origin, text }: SteerRecord): SteerMessage {
  const isAgent = origin.kind === 'agent' || origin.kind === 'operator'
  return { id, from: isAgent ? `agent ${origin.user ?? ''}` : steererPerson, text }
}

/** What a request to an agent carries beside the work; nothing where there is nothing. Pure. */
export function steersBeside(steers: readonly SteerRecord[]): { readonly steers?: SteerMessage[] } {
  return steers.length === 0 ? {} : { steers: steers.map(steerMessage) }
}
