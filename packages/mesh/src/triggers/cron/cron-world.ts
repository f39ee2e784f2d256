import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { JsonValue } from '@flotilla/protocol/json-value'
import type { FileEditor } from '../../config/atomic-file.ts'
import type { EventBus } from '../../events/event-bus.ts'
import type { AgentTool } from '../../agents/connection/agent-connection.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Log } from '../../platform/log.ts'
import type { Action, Decision, Guard } from '../../access/action.ts'
import type { Caller } from '../../access/caller.ts'
import type { RunRecord } from '../../runs/lifecycle/run-record.ts'
import type { LanePlace, SubmitRun } from '../../runs/submit-run.ts'
import type { Database } from '../../storage/database.ts'

export interface HeartbeatFiring {
  readonly manual: boolean
  /** The person who asked for it, whom a pause does not keep waiting. */
  readonly askedBy?: Caller
  readonly jobId: string
  readonly dueAt: number
}

/**
 * Fires a heartbeat, or says why not. The same job and due time give the same run, so that one that was cut off is
 * asked for again. Rejects with a Problem where it cannot be asked for at all.
 */
export type FireHeartbeat = (
  agentId: string,
  firing: HeartbeatFiring,
) => Promise<{ readonly fired: RunRecord } | { readonly skipped: string }>

/** Understands a `when`: whether a payload is as it says. Throws a Problem that says where it is wrong. */
export type ReadCondition = (text: string) => (payload: JsonValue) => boolean

/** What the room of jobs asks of the rest of the mesh. */
export interface CronWorld {
  readonly path: string
  readonly editor: FileEditor
  readonly database: Database
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  readonly guard: Guard
  /** The decision alone: nothing is counted or written down. */
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
  readonly ledger: {
    readonly submitRun: SubmitRun
    find(runId: string): RunRecord | null
    isLaneFull(place: LanePlace): boolean
  }
  /** Throws the Problems `unknown-agent`, `agent-archived`. */
  readonly requireAgent: (agentId: string) => void
  /** Starts the agent where it does not run. Problems of `reach`. */
  readonly toolsOf: (agentId: string, signal: AbortSignal) => Promise<readonly AgentTool[]>
  readonly readCondition: ReadCondition
  readonly fireHeartbeat: FireHeartbeat
  /** In words why the agent is given no work now, or null. */
  readonly pausedReason: (agentId: string) => string | null
  /** Tells the owner something in the agent's name, once for each key. Throws where it cannot. */
  readonly note: (agentId: string, message: string, key: string) => void
}
