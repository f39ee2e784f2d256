import { isLive } from '@flotilla/protocol/agent-lifecycle'
import { lifecycleLimits } from '@flotilla/protocol/limits'
import type { AgentContext } from './agent-context.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { endSandbox } from './end-sandbox.ts'
import type { Isolation } from './ensure-running.ts'
import { forgiveLosses } from './lose-sandbox.ts'
import type { DataMeter } from './meter-data.ts'
import { settleEnd } from './settle-end.ts'
import type { AgentStarts } from './start-agent.ts'
import { stopInTurn } from './stop-agent.ts'

const sweepIntervalMs = 30_000
/** An agent that is well says how it stands within this. */
const answerMaxMs = 5000
/** In a machine, where software may stand for the processor and its programs take their part; less than from one sweep to the next. */
const machineAnswerMaxMs = 25_000
/** Well for this long, and earlier losses are forgotten. */
const wellAgainMs = 600_000
/** Agents asked at once. */
const askedAtOnce = 16

interface FleetHealth {
  /** Asks every agent that should answer, starts again what was lost and is due, and goes on with what broke off. */
  sweep(): Promise<void>
  /** Sweeps every 30 s until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** What is in quarantine is tried with the next sweep: why it was lost may be gone. */
  tryAll(): void
  /** Stops hearing of ends. */
  close(): void
}

/**
 * Looks after agents that hang or end: three questions in a row that are not answered end a sandbox, and what was lost
 * is started again with growing pauses, or tried once in a while where that was done too often. Data that no volume
 * bounds is metered along the way, and an agent of which nothing was asked for long sleeps. An end that nobody asked for
 * is announced at once; the ledger decides what to send again.
 */
export function watchHealth(
  context: AgentContext,
  starts: AgentStarts,
  deps: {
    readonly isolation: Isolation
    readonly meter: DataMeter
    /** Takes away the rest of an agent whose deletion broke off; its turn is held. */
    readonly finishDeletion: (agentId: string) => Promise<void>
    readonly hibernateIdle: (row: AgentRow) => Promise<void>
    readonly removeOrphans: () => Promise<void>
  },
): FleetHealth {
  const { isolation, meter } = deps
  let tryAllNow = false

  async function ask(row: AgentRow): Promise<void> {
    const { id } = row.record
    const address = context.sandboxes.addresses.get(id)
    if (!address) return
    if (await isWell(context, row)) return settleWell(row)
    const reason = 'it does not answer when asked how it stands'
    await context.mutex.take(id, async () => {
      const now = context.agents.find(id)
      if (now === null || !isLive(now.state.kind) || now.startId !== row.startId) return
      const { state } = context.agents.move(id, { kind: 'miss', at: context.clock.now(), reason })
      const misses = state.kind === 'unhealthy' ? state.misses : 0
      context.log.warn(
        { agentId: id, misses },
        'an agent did not answer; after a few times its sandbox is ended and started again',
      )
      if (misses < lifecycleLimits.missesMax) return
      await endSandbox(context, now, { reason: 'it stopped answering', action: 'agent.hung', gone: 'died' })
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
    context.log.info({ agentId: id, state: row.state.kind }, 'an agent is started again after it was lost')
    await starts.start(id)
  }

  /** What was wanted and could not be done at once. */
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
    if (isLive(kind)) await ask(row)
    else if (kind === 'restarting' || kind === 'quarantined') await startAgain(row)
    else if (kind === 'stopping' || kind === 'deleted') await finish(row)
  }

  async function sweep(): Promise<void> {
    const rows = context.agents.list()
    for (let from = 0; from < rows.length; from += askedAtOnce) {
      const batch = rows.slice(from, from + askedAtOnce)
      await Promise.all(
        batch.map(async (row) => {
          try {
            await checkAgent(row)
          } catch (error) {
            context.log.warn(
              { agentId: row.record.id, err: error },
              'an agent could not be looked after; the next look tries again',
            )
          }
        }),
      )
    }
    tryAllNow = false
    await meter.sweep().catch((error: unknown) => {
      context.log.warn(
        { err: error },
        'the data of agents could not be counted; limits hold by the last count',
      )
    })
    await deps.removeOrphans().catch((error: unknown) => {
      context.log.warn(
        { err: error },
        'sandboxes that belong to no agent could not be looked for; the next look tries again',
      )
    })
  }

  const stopHearing = context.runtime.onEnd((end) => {
    void context.mutex
      .take(end.agentId, () => settleEnd(context, end))
      .catch((error: unknown) => {
        context.log.error(
          { agentId: end.agentId, err: error },
          'the end of a sandbox was not dealt with; its agent is found silent at the next looks',
        )
      })
  })

  return {
    sweep,
    tryAll: () => {
      tryAllNow = true
    },
    close: stopHearing,
    run: async (signal) => {
      while (!signal.aborted) {
        await context.clock.sleep(sweepIntervalMs, signal).catch(() => {})
        if (!signal.aborted) await sweep()
      }
    },
  }
}

/** By what the agent says of itself: a server that answers and does not know how its agent stands is not well. */
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
