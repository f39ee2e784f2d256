import { Problem } from '@flotilla/protocol/problem'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { reasonOf } from '../../sandbox/index.ts'
import type { AgentLife } from './agent-life.ts'
import type { Placed } from './agent-placing.ts'
import { refuseArchived } from '../registry/agent-table.ts'
import { agentSandbox } from './agent-sandbox.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { loseSandbox, noteRestart } from './lose-sandbox.ts'
import type { DataMeter } from './meter-data.ts'
import { waitUntilReady } from './wait-until-ready.ts'

/** Of what the process printed last, in the reason of a failed start, bytes. */
const lastWordsMaxBytes = 1500
const reasonMaxChars = 2000
const stopGraceMs = 2000

/** Starts that are under way; whoever wants an agent that is being started shares the start. */
export interface AgentStarts {
  /**
   * Resolves when the agent answers; at once when it runs and `fresh` is not set. `fresh` re-creates the sandbox,
   * unless a start is under way, which is as fresh. Problems `unknown-agent`, `agent-unavailable`, `not-configured`,
   * `data-full`, `isolation-unavailable`.
   */
  start(agentId: string, options?: { readonly fresh?: boolean }): Promise<void>
  /** Breaks off the start that is under way; it fails with this reason. */
  breakOff(agentId: string, reason: string): void
  breakOffAll(reason: string): void
}

export function createAgentStarts(life: AgentLife, meter: DataMeter): AgentStarts {
  const underWay = new Map<string, { readonly done: Promise<void>; readonly controller: AbortController }>()

  function start(agentId: string, options: { readonly fresh?: boolean } = {}): Promise<void> {
    const known = underWay.get(agentId)
    if (known) return known.done
    const controller = new AbortController()
    const done = life.turns
      .take(agentId, async () => {
        const row = life.agents.require(agentId)
        refuseArchived(row)
        if (isLive(row.state.kind) && options.fresh !== true && life.sandboxes.addresses.has(agentId)) return
        const wish = life.placing.wishOf(agentId)
        const placed = { wish, ...(await life.placing.place(wish)) }
        if (row.state.kind === 'restarting' || row.state.kind === 'quarantined') noteRestart(life, agentId)
        await meter.requireRoom(row)
        await startPlaced(life, { before: row, placed }, controller.signal)
      })
      .finally(() => {
        if (underWay.get(agentId)?.controller === controller) underWay.delete(agentId)
      })
    underWay.set(agentId, { done, controller })
    return done
  }

  function breakOff(agentId: string, reason: string): void {
    underWay.get(agentId)?.controller.abort(new Problem('agent-unavailable', { detail: reason }))
    // Whoever asks from now on waits for a start of its own, behind what broke this one off.
    underWay.delete(agentId)
  }

  return {
    start,
    breakOff,
    breakOffAll: (reason) => {
      for (const agentId of underWay.keys()) breakOff(agentId, reason)
    },
  }
}

/** Where a start fails on a rung that cannot be had any more, it goes on with the one to fall back to. */
async function startPlaced(
  life: AgentLife,
  { before, placed }: { readonly before: AgentRow; readonly placed: Placed },
  signal: AbortSignal,
): Promise<void> {
  try {
    await startOnce(life, { before, placed }, signal)
  } catch (error) {
    if (placed.rung === 'container' || signal.aborted) throw error
    // It may be why.
    life.placing.doubt(placed.rung)
    const { wish } = placed
    const now = await life.placing.place(wish).catch(() => placed)
    if (now.rung === placed.rung) throw error
    await startOnce(life, { before: life.agents.require(before.record.id), placed: { wish, ...now } }, signal)
  }
}

async function startOnce(
  life: AgentLife,
  { before, placed }: { readonly before: AgentRow; readonly placed: Placed },
  signal: AbortSignal,
): Promise<void> {
  const { id } = before.record
  signal.throwIfAborted()
  const model = before.record.model ?? life.settings.defaultModel()
  const startId = life.newId('start')
  const since = life.clock.now()
  const tokens = life.database.transaction(() => {
    life.agents.move(id, { kind: 'start', at: since }, startId)
    return life.tokens.issue(id, startId)
  })
  life.sandboxes.addresses.delete(id)
  life.sandboxes.outdated.delete(id)
  life.sandboxes.startedModels.set(id, model)
  life.sandboxes.placed.set(id, placed)
  // The tokens of the sandbox that was there are dead from here on, so it is gone for its listeners (F4).
  if (isLive(before.state.kind)) life.hooks.sandboxGone.tell({ agentId: id, reason: 'restarted' })
  try {
    await life.briefings.write(id)
    const link = life.sandboxes.links.keyFor(id, startId)
    await life.briefings.layOnce(id, { doorToken: tokens.door, link })
    signal.throwIfAborted()
    const sandbox = await life.runtime.start(
      agentSandbox({
        agent: before.record,
        model,
        startId,
        tokens,
        door: life.sandboxes.door(),
        link,
        briefingDirectory: life.briefings.directoryOf(id),
        loopLimits: life.settings.loopLimits,
        dataLimitBytes: life.settings.dataLimitBytes(id),
        placed,
      }),
    )
    if (!sandbox.address) throw new Error('the runtime gave no address')
    const connection = life.sandboxes.connect(id, sandbox.address)
    await waitUntilReady(life, { connection, doorToken: tokens.door, rung: placed.rung }, signal)
    // Before any run: what a run starts must not find it.
    await life.briefings.takeOnce(id)
    life.sandboxes.addresses.set(id, sandbox.address)
    life.sandboxes.lastUsed.set(id, life.clock.now())
    announce(life, {
      agentId: id,
      startId,
      readyMs: life.clock.now() - since,
      warnings: [...(sandbox.warnings ?? []), ...fallbackWords(placed)],
    })
  } catch (error) {
    throw await rollBack(life, { agentId: id, startId, error: signal.aborted ? signal.reason : error })
  }
}

function fallbackWords({ rung, wish, fallback }: Placed): readonly string[] {
  return fallback === null ? [] : [`it runs on ${rung} and not on ${wish.wanted}: ${fallback}`]
}

function announce(
  life: AgentLife,
  started: { agentId: string; startId: string; readyMs: number; warnings: readonly string[] },
): void {
  const { agentId, startId, readyMs } = started
  life.database.transaction(() => {
    life.agents.move(agentId, { kind: 'answer', at: life.clock.now() })
    life.journal.append({
      actor: 'system',
      action: 'agent.started',
      subject: agentId,
      detail: { start_id: startId, ready_ms: readyMs },
    })
    life.events.publish({ type: 'agent.started', agent_id: agentId, ready_ms: readyMs })
    for (const message of started.warnings) {
      life.journal.append({ actor: 'system', action: 'agent.warned', subject: agentId, detail: { message } })
      life.events.publish({ type: 'agent.warned', agent_id: agentId, message })
    }
  })
  for (const warning of started.warnings)
    life.log.warn({ agentId, warning }, 'agent runs, not quite as asked')
  life.log.info({ agentId, startId, readyMs }, 'agent started')
}

/** Leaves no live token, no process and no `starting` row behind; returns what to throw. */
async function rollBack(
  life: AgentLife,
  failed: { readonly agentId: string; readonly startId: string; readonly error: unknown },
): Promise<Problem> {
  const { agentId, startId, error } = failed
  life.tokens.revoke(agentId)
  life.sandboxes.addresses.delete(agentId)
  await life.briefings.takeOnce(agentId)
  const lastWords = await lastWordsOf(life, agentId)
  try {
    await life.runtime.stop(agentId, { graceMs: stopGraceMs })
  } catch (stopError) {
    life.log.error({ agentId, startId, err: stopError }, 'sandbox of a failed start could not be stopped')
  }
  const said = lastWords === '' ? '' : `; it said last:\n${lastWords}`
  const reason = `${reasonOf(error)}${said}`.slice(0, reasonMaxChars)
  life.database.transaction(() => {
    loseSandbox(life, agentId, reason)
    life.journal.append({
      actor: 'system',
      action: 'agent.start-failed',
      subject: agentId,
      detail: { start_id: startId, reason: reasonOf(error).slice(0, 300) },
    })
  })
  life.log.warn({ agentId, startId, err: error }, 'agent could not be started')
  return new Problem('agent-unavailable', {
    detail: `agent ${agentId} could not be started: ${reason}`,
    cause: error,
  })
}

/** Printed inside a container, so without anything that a terminal would obey. */
async function lastWordsOf(life: AgentLife, agentId: string): Promise<string> {
  try {
    return sanitizeForPrompt(await life.runtime.logs(agentId, lastWordsMaxBytes)).trim()
  } catch {
    return ''
  }
}
