import type { ResultReply } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { AgentConnections, AgentRuns } from '@flotilla/fleet/agents'
import type { Log } from '@flotilla/foundation/platform'
import type { InterruptRun } from '../ledger/change-run.ts'
import type { PerformRun } from './perform-run.ts'
import { silenceMaxMs, type RunPulses } from './run-pulses.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import { runLimits } from '../run-limits.ts'

/**
 * How long the loop must be silent before an agent that does not answer and whose lease has expired is terminated:
 * two missed heartbeats, milliseconds. Less than a lease, because the mesh counts only time that it observed itself.
 */
const silentWithDeadLeaseMs = runLimits.leaseMs / 2
/** How long after a lease expired the mesh waits for an engine that does not answer, milliseconds. */
const engineSilenceMaxMs = 600_000

/**
 * Decides about a running run that this process does not follow: after a start of the mesh (R7), a broken connection
 * or an expired lease (R2). Asks the engine and the agent first. If the agent works on the run or finished it under
 * this fencing token, attaches to it. If the agent is gone or does not know the run, interrupts it. Without an
 * answer, the lane asks again. An agent whose loop was silent too long is terminated, whatever its server reports.
 */
export type RecoverRun = (run: RunRecord, closing: AbortSignal) => Promise<void>

interface RecoverRunDeps {
  readonly table: RunTable
  readonly connections: AgentConnections
  readonly performRun: PerformRun
  readonly interrupt: InterruptRun
  readonly pulses: RunPulses
  readonly clock: Clock
  readonly log: Log
}

export function createRecoverRun(deps: RecoverRunDeps): RecoverRun {
  const { table, connections, performRun, interrupt, pulses, clock, log } = deps

  const deadForMs = (run: RunRecord) => clock.now() - (table.find(run.id)?.leaseUntil ?? run.leaseUntil ?? 0)

  async function ask(run: RunRecord, closing: AbortSignal): Promise<Finding> {
    let connection: AgentRuns | null
    try {
      connection = await connections.connectIfRunning(run.agentId)
    } catch (error) {
      log.warn(
        { runId: run.id, agentId: run.agentId, err: error },
        'failed to ask the engine whether an agent is alive; retrying',
      )
      return deadForMs(run) > engineSilenceMaxMs ? lost('the container engine did not answer') : 'no-answer'
    }
    if (!connection) return lost('the container of the agent no longer exists')
    try {
      const found = judge(run, connection, await connection.result(run.id, 0, closing))
      if (found.working && pulses.silentMs(run) >= silenceMaxMs) return hung(silentReason)
      return found.finding
    } catch (error) {
      log.warn(
        { runId: run.id, agentId: run.agentId, err: error },
        'failed to read the state of a run from its agent; retrying until the lease expires',
      )
      if (deadForMs(run) < 0) return 'no-answer'
      // A silent process is terminated, because the next attempt would wait for the same process.
      const isSilent = pulses.silentMs(run) >= silentWithDeadLeaseMs
      return isSilent ? hung('the agent does not answer') : lost('the agent does not answer')
    }
  }

  return async (run, closing) => {
    const finding = await ask(run, closing)
    if (closing.aborted || finding === 'no-answer') return
    if ('lost' in finding) {
      if (finding.hung) await connections.giveUp(run.agentId, finding.lost)
      interrupt(run, finding.lost)
      return
    }
    pulses.begin(run)
    table.renewLease(run.id, run.fence, clock.now() + runLimits.leaseMs)
    await performRun.attach(run, finding.connection, closing)
  }
}

type Finding =
  | 'no-answer'
  | { readonly lost: string; readonly hung: boolean }
  | { readonly connection: AgentRuns }

const lost = (why: string): Finding => ({ lost: why, hung: false })
const hung = (why: string): Finding => ({ lost: why, hung: true })
const silentReason = `the agent reported no progress of the run for ${silenceMaxMs / 1000} s, although its server answers`

/** Judges an agent's reply. A reply under another fencing token says nothing about this attempt and turn. */
function judge(
  run: RunRecord,
  connection: AgentRuns,
  reply: ResultReply,
): { readonly finding: Finding; readonly working: boolean } {
  const working = reply.state === 'working'
  if (reply.state === 'unknown') return { working, finding: lost('the agent does not know the run') }
  const fence = reply.state === 'working' ? reply.fence : reply.result.fence
  const finding =
    fence === run.fence ? { connection } : lost('the agent does not know this attempt of the run')
  return { working, finding }
}
