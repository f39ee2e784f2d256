import { agentExitCodes } from '@flotilla/protocol/agent-exit'
import type { SandboxEnd } from '../../sandbox/index.ts'
import type { AgentLife } from './agent-life.ts'
import { startIdLabel } from './agent-sandbox.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { endSandbox } from './end-sandbox.ts'
import type { Isolation } from './ensure-running.ts'
import type { DataMeter } from './meter-data.ts'
import { restartDueAt, restartsKept } from './restart-backoff.ts'
import type { AgentStarts } from './start-agent.ts'

const sweepIntervalMs = 30_000
/** Unanswered questions in a row after which an agent counts as hung. */
const missesMax = 3
/** Well for this long, and earlier restarts are forgotten. */
const wellAgainMs = 600_000
/** Agents asked at once. */
const askedAtOnce = 16

export interface FleetHealth {
  /** Asks every agent that should answer, and starts again what failed and is due. */
  sweep(): Promise<void>
  /** Sweeps every 30 s until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Forgets what it knows of an agent that is deleted. */
  readonly forget: (agentId: string) => void
  /** Stops hearing of ends. */
  close(): void
}

interface Watch {
  misses: number
  /** Restarts since it was last well, in order. */
  restarts: number[]
}

/**
 * Looks after agents that hang or end: three unanswered questions end a sandbox, and what failed is started again
 * with growing pauses. Data that no volume bounds is metered along the way. An end that nobody asked for is announced at once; the ledger decides what to send again.
 */
export function watchHealth(
  life: AgentLife,
  starts: AgentStarts,
  { isolation, meter }: { readonly isolation: Isolation; readonly meter: DataMeter },
): FleetHealth {
  const watches = new Map<string, Watch>()

  function watchOf(agentId: string): Watch {
    const known = watches.get(agentId) ?? { misses: 0, restarts: [] }
    watches.set(agentId, known)
    return known
  }

  async function ask(row: AgentRow): Promise<void> {
    const { id } = row.record
    const address = life.addresses.get(id)
    if (!address) return
    const healthy = await life.connect(id, address).healthy(new AbortController().signal)
    const watch = watchOf(id)
    if (healthy) {
      watch.misses = 0
      const lastRestart = watch.restarts.at(-1) ?? 0
      if (life.clock.now() - lastRestart >= wellAgainMs) watch.restarts = []
      return
    }
    watch.misses++
    life.log.warn({ agentId: id, misses: watch.misses }, 'agent did not answer')
    if (watch.misses < missesMax) return
    watch.misses = 0
    await life.turns.take(id, () =>
      endSandbox(life, row, { reason: 'it stopped answering', action: 'agent.hung', gone: 'died' }),
    )
  }

  async function startAgain(row: AgentRow): Promise<void> {
    const { id } = row.record
    if (row.state.kind !== 'failed' || row.archivedAt !== null || !isolation.hold()) return
    const watch = watchOf(id)
    if (life.clock.now() < restartDueAt(watch.restarts, row.state.since)) return
    watch.restarts = [...watch.restarts, life.clock.now()].slice(-restartsKept)
    life.log.info({ agentId: id, restarts: watch.restarts.length }, 'agent is started again')
    await starts.start(id)
  }

  async function sweep(): Promise<void> {
    const rows = life.agents.list()
    for (let from = 0; from < rows.length; from += askedAtOnce) {
      const batch = rows.slice(from, from + askedAtOnce)
      await Promise.all(
        batch.map(async (row) => {
          try {
            if (row.state.kind === 'ready') await ask(row)
            else if (row.state.kind === 'failed') await startAgain(row)
          } catch (error) {
            life.log.warn({ agentId: row.record.id, err: error }, 'agent could not be looked after')
          }
        }),
      )
    }
    await meter.sweep().catch((error: unknown) => {
      life.log.warn({ err: error }, 'what agents keep could not be counted')
    })
  }

  const stopHearing = life.runtime.onEnd((end) => {
    void life.turns
      .take(end.agentId, () => settleEnd(life, end))
      .catch((error: unknown) => {
        life.log.error({ agentId: end.agentId, err: error }, 'the end of a sandbox could not be settled')
      })
  })

  return {
    sweep,
    forget: (agentId) => {
      watches.delete(agentId)
    },
    close: stopHearing,
    run: async (signal) => {
      while (!signal.aborted) {
        await life.clock.sleep(sweepIntervalMs, signal).catch(() => {})
        if (!signal.aborted) await sweep()
      }
    },
  }
}

/** In the agent's turn. An end of an earlier sandbox, told late, is not the end of the one that runs now. */
async function settleEnd(life: AgentLife, end: SandboxEnd): Promise<void> {
  const row = life.agents.find(end.agentId)
  if (row?.state.kind !== 'ready') return
  const now = await life.runtime.inspect(end.agentId).catch(() => null)
  if (now?.running && now.labels[startIdLabel] === row.startId) return
  const reason = end.code === agentExitCodes.cannotWrite ? 'it could not write its state' : null
  life.tokens.revoke(end.agentId)
  life.addresses.delete(end.agentId)
  life.database.transaction(() => {
    life.agents.move(end.agentId, { kind: 'stop' })
    life.journal.append({
      actor: 'system',
      action: 'agent.died',
      subject: end.agentId,
      detail: {
        start_id: row.startId ?? '',
        exit_code: end.code,
        out_of_memory: end.outOfMemory,
        ...(reason === null ? {} : { reason }),
      },
    })
    life.events.publish({
      type: 'agent.died',
      agent_id: end.agentId,
      exit_code: end.code,
      out_of_memory: end.outOfMemory,
    })
  })
  life.log.warn({ agentId: end.agentId, code: end.code, outOfMemory: end.outOfMemory, reason }, 'agent died')
  life.hooks.sandboxGone.tell({ agentId: end.agentId, reason: 'died' })
}
