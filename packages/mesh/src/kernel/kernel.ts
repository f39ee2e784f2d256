import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { Action, Decision, Guard } from '../access/action.ts'
import type { Caller } from '../access/caller.ts'
import type { Settings } from '../config/settings-file.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../platform/log.ts'
import type { Database } from '../storage/database.ts'
import type { Hooks } from './hooks.ts'
import type { Ports } from './ports.ts'

/** What every module is given, the same for all. */
export interface Kernel {
  readonly database: Database
  readonly clock: Clock
  readonly newId: NewId
  /** 256 random bits as 43 URL-safe characters. */
  readonly randomToken: () => string
  readonly log: Log
  readonly journal: Journal
  readonly events: EventBus
  readonly guard: Guard
  /** The decision alone, for what is listed: nothing is counted or written down. */
  readonly decide: (caller: Caller, action: Action) => Decision
  /** As the owner's file has them at the moment. */
  readonly settings: () => Settings
  readonly hooks: Hooks
  readonly ports: Ports
}
