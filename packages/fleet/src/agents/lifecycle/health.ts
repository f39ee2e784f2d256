import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { AgentContext } from './agent-context.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { endSandbox } from './end-sandbox.ts'
import type { Isolation } from './ensure-running.ts'
import { forgiveLosses } from './lose-sandbox.ts'
import type { DataMeter } from './meter-data.ts'
import { settleEnd } from './settle-end.ts'
import type { AgentStarts } from './start-agent.ts'
import { stopInTurn } from './stop-agent.ts'
import { lifecycleLimits } from './lifecycle-limits.ts'

/** The interval between two health checks of all agents, in milliseconds. */
const sweepIntervalMs = 30_000
/** The time limit for an answer to a health check, milliseconds. */
const answerMaxMs = 5000
/**
 * The time limit for the answer of a virtual machine, milliseconds. Software emulation and the agent's programs can
 * slow it down; less than the time between two sweeps.
 */
const machineAnswerMaxMs = 25_000
/** Once an agent was healthy for this long, its earlier losses are forgotten, milliseconds. */
const wellAgainMs = 600_000
/** The number of agents checked concurrently. */
const concurrentChecksMax = 16

interface FleetHealth {
  /**
   * Checks every agent that should answer, restarts lost agents whose pause is over, and continues
   * interrupted operations.
   */
  sweep(): Promise<void>
  /** Sweeps every 30 s until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Starts all quarantined agents at the next sweep, because the cause may have been repaired. */
  tryAll(): void
  /** Unsubscribes from end events. */
  close(): void
}

/**
 * Watches for agents that hang or end. Three unanswered health checks in a row end a sandbox. A lost agent
 * is restarted with growing pauses, or after too many losses only occasionally. Data that no volume limits
 * is measured as well, and idle agents hibernate. An unrequested end is announced at once; the ledger
 * decides which runs to resend.
 */
export function watchHealth(
  context: AgentContext,
  starts: AgentStarts,
  deps: {
    readonly isolation: Isolation
    readonly meter: DataMeter
    /** Completes the interrupted deletion of an agent; the caller holds the agent's mutex. */
    readonly finishDeletion: (agentId: string) => Promise<void>
    readonly hibernateIdle: (row: AgentRow) => Promise<void>
    readonly removeOrphans: () => Promise<void>
  },
): FleetHealth {
  const { isolation, meter } = deps
  let tryAllNow = false

  async function probeAgent(row: AgentRow): Promise<void> {
    const { id } = row.record
    const address = context.sandboxes.addresses.get(id)
    if (!address) return
    if (await isWell(context, row)) return settleWell(row)
    const reason = 'the agent does not answer health checks'
    await context.mutex.take(id, async () => {
      const now = context.agents.find(id)
      if (now === null || !isLive(now.state.kind) || now.startId !== row.startId) return
      const { state } = context.agents.move(id, { kind: 'miss', at: context.clock.now(), reason })
      const misses = state.kind === 'unhealthy' ? state.misses : 0
      context.log.warn(
        { agentId: id, misses },
        'an agent did not answer a health check; after three failures its sandbox is restarted',
      )
      if (misses < lifecycleLimits.missesMax) return
      await endSandbox(context, now, {
        reason: 'the agent stopped answering health checks',
        action: 'agent.hung',
        gone: 'died',
      })
    })
  }

  async function settleWell(row: AgentRow): Promise<void> {
    const { id } = row.record
    if (row.state.kind === 'unhealthy') {
      await context.mutex.take(id, async () => {
        const now = context.agents.find(id)
        if (now?.state.kind !== 'unhealthy' || now.startId !== row.startId) return
        context.agents.move(id, { kind: 'answer', at: context.clock.now() })
      })
    }
    const { losses } = row
    const lastLoss = Math.max(losses.restarts.at(-1) ?? 0, losses.quarantinedAt ?? 0)
    if (context.clock.now() - lastLoss >= wellAgainMs)
      context.database.transaction(() => forgiveLosses(context, id))
    await deps.hibernateIdle(row)
  }

  async function startAgain(row: AgentRow): Promise<void> {
    const { id } = row.record
    if (row.state.kind !== 'restarting' && row.state.kind !== 'quarantined') return
    const isDue = context.clock.now() >= row.state.dueAt || (row.state.kind === 'quarantined' && tryAllNow)
    if (!isDue || !isolation.hold()) return
    context.log.info({ agentId: id, state: row.state.kind }, 'restarting an agent that stopped unexpectedly')
    await starts.start(id)
  }

  /** Completes a stop, archiving or deletion of an agent that could not be completed at once. */
  async function finish(row: AgentRow): Promise<void> {
    const { id } = row.record
    await context.mutex.take(id, async () => {
      const now = context.agents.find(id)
      if (now?.state.kind === 'stopping') await stopInTurn(context, id, now.state)
      if (context.agents.find(id)?.state.kind === 'deleted') await deps.finishDeletion(id)
    })
  }

  async function checkAgent(row: AgentRow): Promise<void> {
    const { kind } = row.state
    if (isLive(kind)) await probeAgent(row)
    else if (kind === 'restarting' || kind === 'quarantined') await startAgain(row)
    else if (kind === 'stopping' || kind === 'deleted') await finish(row)
  }

  async function sweep(): Promise<void> {
    const rows = context.agents.list()
    for (let from = 0; from < rows.length; from += concurrentChecksMax) {
      const batch = rows.slice(from, from + concurrentChecksMax)
      await Promise.all(
        batch.map(async (row) => {
          try {
            await checkAgent(row)
          } catch (error) {
            context.log.warn(
              { agentId: row.record.id, err: error },
              'failed to check an agent; retrying at the next check',
            )
          }
        }),
      )
    }
    tryAllNow = false
    await meter.sweep().catch((error: unknown) => {
      context.log.warn(
        { err: error },
        'failed to measure the data of agents; limits use the previous measurement',
      )
    })
    await deps.removeOrphans().catch((error: unknown) => {
      context.log.warn({ err: error }, 'failed to search for orphaned sandboxes; retrying at the next check')
    })
  }

  const unsubscribe = context.runtime.onEnd((end) => {
    void context.mutex
      .take(end.agentId, () => settleEnd(context, end))
      .catch((error: unknown) => {
        context.log.error(
          { agentId: end.agentId, err: error },
          'failed to process the exit of a sandbox; health checks will find it',
        )
      })
  })

  return {
    sweep,
    tryAll: () => {
      tryAllNow = true
    },
    close: unsubscribe,
    run: async (signal) => {
      while (!signal.aborted) {
        await context.clock.sleep(sweepIntervalMs, signal).catch(() => {})
        if (!signal.aborted) await sweep()
      }
    },
  }
}

/** Returns whether the agent reports itself healthy: a server that cannot report its agent's state is unhealthy. */
async function isWell(context: AgentContext, row: AgentRow): Promise<boolean> {
  const { id } = row.record
  const { addresses, placed, connect } = context.sandboxes
  const address = addresses.get(id)
  if (!address) return false
  const withinMs = placed.get(id)?.rung === 'microvm' ? machineAnswerMaxMs : answerMaxMs
  try {
    const status = await connect(id, address).status(AbortSignal.timeout(withinMs))
    return status.agent_id === id
  } catch {
    return false
  }
}
