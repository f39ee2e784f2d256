import type { AgentTool } from '@flotilla/fleet/agents'
import type { EventBus } from '@flotilla/foundation/events'
import type { Kernel } from '@flotilla/identity/kernel'
import type { LanePlace, RunRecord, SubmitRun } from '@flotilla/work/runs'
import type { DueHeartbeat } from '../heartbeat/index.ts'
import type { IdentityEvents } from '@flotilla/identity/events'

/**
 * Runs a heartbeat or returns why it was skipped. The same job and due time give the same run, so an
 * interrupted request can be repeated. Rejects with a Problem if the heartbeat cannot be requested at all.
 */
export type FireHeartbeat = (
  agentId: string,
  due: DueHeartbeat,
) => Promise<{ readonly fired: RunRecord } | { readonly skipped: string }>

/** The parts of the mesh that jobs use. */
export interface CronDeps {
  readonly kernel: Pick<Kernel, 'database' | 'clock' | 'newId' | 'log' | 'guard' | 'decide' | 'journal'> & {
    readonly events: Pick<EventBus, 'publish'>
    readonly identityEvents: Pick<IdentityEvents, 'personOf'>
  }
  readonly runs: {
    readonly submitRun: SubmitRun
    find(runId: string): RunRecord | null
    isLaneFull(place: LanePlace): boolean
  }
  readonly agents: {
    /** Throws the Problems `unknown-agent` and `agent-archived`. */
    requireWorking(agentId: string): void
    /** Returns the agent's tools and starts the agent if needed. Throws the Problems of `reach`. */
    toolsOf(agentId: string, signal: AbortSignal): Promise<readonly AgentTool[]>
  }
  readonly fireHeartbeat: FireHeartbeat
  /** Returns why the agent gets no work at present, or null. */
  readonly pausedReason: (agentId: string) => string | null
  /** Sends the owner a note on behalf of the agent, once per key. Throws on failure. */
  readonly note: (agentId: string, message: string, key: string) => void
}
