import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { EventBus } from '../../events/event-bus.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Guard } from '../../access/action.ts'
import type { Caller } from '../../access/caller.ts'
import type { Database } from '../../storage/database.ts'
import { createNoteTable } from './note-table.ts'
import type { Note } from './note-table.ts'
import { notifyOwner } from './notify-owner.ts'
import type { NotifyOwner } from './notify-owner.ts'

const listedMax = 500

export interface Notes {
  readonly notifyOwner: NotifyOwner
  /** Newest first; for whoever may view the fleet. */
  list(caller: Caller, limit: number): readonly Note[]
}

/** What agents tell the owner. */
export function createNotes(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly newId: NewId
  readonly guard: Guard
  readonly journal: Journal
  readonly events: EventBus
}): Notes {
  const table = createNoteTable(deps.database)
  return {
    notifyOwner: notifyOwner({ ...deps, table }),
    list: (caller, limit) => {
      deps.guard(caller, { do: 'view-fleet' })
      return table.list(Math.min(listedMax, Math.max(1, limit)))
    },
  }
}
