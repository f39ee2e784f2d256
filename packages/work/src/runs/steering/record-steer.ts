import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { SteerRecord } from './steer-table.ts'

export interface SteerRecorders {
  readonly journal: Journal
  readonly events: EventBus
}

/** Audits and publishes a change of a steer. `steer` is the row after the change. */
export function recordSteer(
  { journal, events }: SteerRecorders,
  steer: SteerRecord,
  { action, actor }: { readonly action: `steer.${string}`; readonly actor: string },
): void {
  journal.append({
    actor,
    action,
    subject: steer.id,
    detail: {
      agent: steer.agentId,
      run: steer.runId,
      origin: steer.origin.kind,
      channel: steer.origin.channel,
      step: steer.takenStep,
      became: steer.becameRunId,
    },
  })
  events.publish({
    type: 'steer.changed',
    agent_id: steer.agentId,
    steer_id: steer.id,
    // The table guarantees that `runId` or `becameRunId` is set.
    run_id: steer.runId ?? steer.becameRunId ?? '',
    state: steer.state,
    text: steer.text,
    step: steer.takenStep,
    became_run_id: steer.becameRunId,
  })
}
