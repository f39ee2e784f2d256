import type { Clock } from '@flotilla/protocol/clock'
import type { RunView } from '@flotilla/protocol/run'
import type { Guard } from '@flotilla/identity/access'
import type { EventBus } from '@flotilla/foundation/events'
import type { WorkEvents } from '../../events/index.ts'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { Database } from '@flotilla/foundation/storage'
import type { RunChanges } from '../ledger/change-run.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { TakeNote, NotifyRun } from '../ledger/run-tasks.ts'
import type { Outbox } from '../ledger/outbox.ts'
import type { RunInbox } from '../ledger/run-inbox.ts'
import { createRunOutcomes } from './deliver-outcome.ts'
import type { RunOutcomes } from './deliver-outcome.ts'
import { createTakeNote, createNotifyRun } from './notify-run.ts'

/** Delivers notes to a run, and the outcome of the run to its caller (R5). */
export interface RunDelivery {
  readonly notifyRun: NotifyRun
  readonly takeNote: TakeNote
  readonly outbox: Outbox
  readonly outcomes: RunOutcomes
}

export function createRunDelivery(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly inbox: RunInbox
  readonly outbox: Outbox
  readonly changes: Pick<RunChanges, 'move'>
  readonly view: (run: RunRecord) => RunView
  readonly notifier: Pick<DomainEvent<string>, 'publish'>
  readonly events: EventBus
  readonly guard: Guard
  readonly workEvents: Pick<WorkEvents, 'costsRequested'>
  readonly clock: Clock
}): RunDelivery {
  return {
    notifyRun: createNotifyRun({ ...deps, move: deps.changes.move }),
    takeNote: createTakeNote(deps),
    outbox: deps.outbox,
    outcomes: createRunOutcomes(deps),
  }
}
