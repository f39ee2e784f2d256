import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { Action, Caller, Decision, Guard } from '../access/index.ts'
import type { Settings } from '../config/index.ts'
import type { EventBus } from '../events/index.ts'
import type { Journal } from '../journal/index.ts'
import type { Log } from '../platform/index.ts'
import type { Database } from '../storage/index.ts'
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
