import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { Action, Caller, Decision, Guard } from '../access/index.ts'
import type { Settings } from '@flotilla/foundation/config'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'

/** What every module receives; the same object for all. */
export interface Kernel {
  readonly database: Database
  readonly clock: Clock
  readonly newId: NewId
  /** Returns 256 random bits as 43 URL-safe characters. */
  readonly randomToken: () => string
  readonly log: Log
  readonly journal: Journal
  readonly events: EventBus
  readonly guard: Guard
  /** Decides without counting or recording, for listings. */
  readonly decide: (caller: Caller, action: Action) => Decision
  /** The current settings of the owner's file. */
  readonly settings: () => Settings
  readonly ports: Ports
}

/** Ports that the mesh listens on; 0 before it listens. */
interface Ports {
  /** The people’s API and the dashboard, on loopback. */
  people: number
  /** The agent API, on the gateway address of the agents' networks. */
  agentApi: number
  /** The forward proxy, on the same address. */
  proxy: number
  /**
   * All ports of this mesh. The egress filter never opens them to agents, whatever exceptions the owner configures.
   */
  readonly open: number[]
}
