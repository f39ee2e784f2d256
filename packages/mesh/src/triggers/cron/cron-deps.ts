import type { AgentTool } from '../../agents/index.ts'
import type { EventBus } from '../../events/index.ts'
import type { Kernel } from '../../kernel/index.ts'
import type { LanePlace, RunRecord, SubmitRun } from '../../runs/index.ts'
import type { DueHeartbeat } from '../heartbeat/index.ts'

/**
 * Fires a heartbeat, or says why not. The same job and due time give the same run, so that one that was cut off is
 * asked for again. Rejects with a Problem where it cannot be asked for at all.
 */
export type FireHeartbeat = (
  agentId: string,
  due: DueHeartbeat,
) => Promise<{ readonly fired: RunRecord } | { readonly skipped: string }>

/** What jobs ask of the rest of the mesh. */
export interface CronDeps {
  readonly kernel: Pick<Kernel, 'database' | 'clock' | 'newId' | 'log' | 'guard' | 'decide' | 'journal'> & {
    readonly events: Pick<EventBus, 'publish'>
    readonly hooks: Pick<Kernel['hooks'], 'personOf'>
  }
  readonly runs: {
    readonly submitRun: SubmitRun
    find(runId: string): RunRecord | null
    isLaneFull(place: LanePlace): boolean
  }
  readonly agents: {
    /** Throws the Problems `unknown-agent`, `agent-archived`. */
    requireWorking(agentId: string): void
    /** Starts the agent where it does not run. Problems of `reach`. */
    toolsOf(agentId: string, signal: AbortSignal): Promise<readonly AgentTool[]>
  }
  readonly fireHeartbeat: FireHeartbeat
  /** In words why the agent is given no work now, or null. */
  readonly pausedReason: (agentId: string) => string | null
  /** Tells the owner something in the agent's name, once for each key. Throws where it cannot. */
  readonly note: (agentId: string, message: string, key: string) => void
}
