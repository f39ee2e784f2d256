import type { AgentUse } from '@flotilla/protocol/kept-api'
import { agentIdSchema } from '@flotilla/protocol/ids'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { Clock } from '@flotilla/protocol/clock'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { SandboxUse } from '@flotilla/fleet/sandbox'
import { createUsePeaks } from './use-peaks.ts'

/** A sample is reused for this time, so that many open pages cause one measurement. */
const freshMs = 2000

interface Reading {
  readonly at: number
  readonly uses: ReadonlyMap<string, SandboxUse>
}

/** Reports the processor, memory and context use of each agent to callers that may view the fleet. */
export function createAgentUse(deps: {
  readonly guard: Guard
  readonly clock: Clock
  readonly agents: { list(): readonly { readonly id: string }[] }
  readonly measureUse: (agentIds: readonly string[]) => Promise<ReadonlyMap<string, SandboxUse>>
  readonly runOf: (agentId: string) => string | null
  readonly windowOf: (agentId: string) => number | null
}) {
  const { guard, clock, agents } = deps
  const contexts = new Map<string, number>()
  const peaks = createUsePeaks()
  let sampling: Promise<void> | null = null
  let before: Reading | null = null
  let last: Reading | null = null

  async function sample(): Promise<void> {
    const uses = await deps.measureUse(agents.list().map(({ id }) => id))
    before = last
    last = { at: clock.now(), uses }
    for (const [agentId, { memoryBytes }] of uses) {
      const cpu = before === null ? null : cpuPercent(agentId, before, last)
      peaks.add(agentId, { at: last.at, memoryBytes, cpuPercent: cpu })
    }
  }

  async function fresh(): Promise<void> {
    if (last !== null && clock.now() - last.at < freshMs) return
    sampling ??= sample().finally(() => {
      sampling = null
    })
    await sampling
  }

  return {
    /** Handles an event: records how much of the context window the last call used. */
    handleEvent({ body }: FleetEvent): void {
      if (body.type !== 'model.called' || (body.operation ?? 'chat') !== 'chat') return
      contexts.set(body.agent_id, body.tokens)
    },
    forget(agentId: string): void {
      contexts.delete(agentId)
      peaks.forget(agentId)
    },
    /** Measures now, unless that was done just before. */
    sampleNow(): void {
      fresh().catch(() => undefined)
    },
    /** Returns the highest use of the last hour as a sentence; null if no sample exists. */
    peakWords(agentId: string): string | null {
      const peak = peaks.of(agentId, clock.now())
      if (peak === null) return null
      const minutes = Math.max(1, Math.ceil((clock.now() - peak.since) / 60_000))
      const cpus = peak.cpuPercent === null ? '' : ` and ${(peak.cpuPercent / 100).toFixed(2)} processors`
      return `In the last ${minutes} minutes agent ${agentId} used at most ${Math.ceil(peak.memoryBytes / 1024 ** 2)} MB of memory${cpus}.`
    },
    async list(caller: Caller): Promise<readonly AgentUse[]> {
      guard(caller, { do: 'view-fleet' })
      await fresh()
      return agents.list().map(({ id }) => {
        const use = last?.uses.get(id)
        const peak = peaks.of(id, clock.now())
        return {
          agent_id: agentIdSchema.parse(id),
          run_id: deps.runOf(id),
          memory_bytes: use?.memoryBytes ?? null,
          memory_limit_bytes: use?.memoryLimitBytes ?? null,
          cpu_percent: before === null || last === null ? null : cpuPercent(id, before, last),
          last_hour: peak && {
            since: peak.since,
            memory_bytes: peak.memoryBytes,
            cpu_percent: peak.cpuPercent,
          },
          context_tokens: contexts.get(id) ?? null,
          context_window: deps.windowOf(id),
        }
      })
    },
  }
}

/** Returns the use of one processor in percent between two samples; null if the sandbox started in between. Pure. */
export function cpuPercent(agentId: string, before: Reading, last: Reading): number | null {
  const [was, is] = [before.uses.get(agentId), last.uses.get(agentId)]
  const seconds = (last.at - before.at) / 1000
  if (!was || !is || seconds <= 0 || is.cpuSeconds < was.cpuSeconds) return null
  return ((is.cpuSeconds - was.cpuSeconds) / seconds) * 100
}
