import type { EventBus } from '../../events/index.ts'
import type { Journal } from '../../journal/index.ts'
import type { SteerRecord } from './steer-table.ts'

export interface SteerRecorders {
  readonly journal: Journal
  readonly events: EventBus
}

/** What happened to a steer, into the journal and onto the bus. `steer` is as its row is now. */
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
    // The table holds that one of the two is there.
    run_id: steer.runId ?? steer.becameRunId ?? '',
    state: steer.state,
    text: steer.text,
    step: steer.takenStep,
    became_run_id: steer.becameRunId,
  })
}
