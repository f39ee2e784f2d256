import type { Clock } from '@flotilla/protocol/clock'
import type { AgentConnections } from '@flotilla/fleet/agents'
import type { EventBus } from '@flotilla/foundation/events'
import type { WorkEvents } from '../../events/index.ts'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import type { Outbox } from '../ledger/outbox.ts'
import type { RunInbox } from '../ledger/run-inbox.ts'
import { createBindNotes } from '../delivery/notify-run.ts'
import { createHoldLease } from '../hold-lease.ts'
import type { RunChanges } from '../ledger/change-run.ts'
import { createEndTurn } from './end-turn.ts'
import type { FollowedRuns } from './followed-runs.ts'
import { createFollowRun } from './follow-run.ts'
import type { Lease } from './lease.ts'
import { createPerformRun } from './perform-run.ts'
import { createRecoverRun } from './recover-runs.ts'
import type { RunPulses } from './run-pulses.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { RunTasks } from '../ledger/run-tasks.ts'
import type { ReleaseSteers } from '../steering/release-steers.ts'
import type { SteerTable } from '../steering/steer-table.ts'
import { createLanes } from './lanes.ts'
import type { Lanes } from './lanes.ts'

/** The tables that the dispatch of a run reads and writes. */
interface DispatchedRows {
  readonly table: RunTable
  readonly steers: SteerTable
  readonly inbox: RunInbox
  readonly outbox: Outbox
}

/** What tracks the runs that this process follows. */
interface Followed {
  readonly followed: FollowedRuns
  readonly pulses: RunPulses
  readonly lease: Lease
  /** When this signal fires, no lease is renewed any more. */
  readonly stopped: AbortSignal
}

/** Takes runs from the lanes, sends them to their agents and follows them to the end of their turns. */
export function createDispatchRuns(
  deps: DispatchedRows &
    Followed & {
      readonly database: Database
      readonly clock: Clock
      readonly log: Log
      readonly events: EventBus
      readonly workEvents: Pick<WorkEvents, 'entriesPromoted'>
      readonly tasks: RunTasks
      readonly connections: AgentConnections
      readonly changes: RunChanges
      readonly releaseSteers: ReleaseSteers
      readonly notifier: DomainEvent<string>
      readonly pausedReason: (agentId: string) => string | null
    },
): Pick<Lanes, 'start' | 'close'> {
  const { changes } = deps
  const endTurn = createEndTurn({ ...deps, ...changes })
  const performRun = createPerformRun({
    ...deps,
    follow: createFollowRun({ ...deps, endTurn, settle: changes.settle }),
    bindNotes: createBindNotes(deps),
    holdLease: createHoldLease({ ...deps, renew: deps.lease.heartbeat }),
  })
  const recover = createRecoverRun({ ...deps, performRun, interrupt: changes.interrupt })
  return createLanes({ ...deps, performRun, recover })
}
