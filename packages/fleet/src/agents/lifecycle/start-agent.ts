import { Problem } from '@flotilla/protocol/problem'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { agentSize, reasonOf, sizeMark } from '../../sandbox/index.ts'
import type { AgentSize } from '../../sandbox/index.ts'
import type { AgentContext } from './agent-context.ts'
import type { Placed } from './agent-placing.ts'
import { refuseArchived } from '../registry/agent-table.ts'
import { agentSandbox } from './agent-sandbox.ts'
import { programSetupOf } from './program-setup.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { loseSandbox, noteRestart } from './lose-sandbox.ts'
import type { DataMeter } from './meter-data.ts'
import { waitUntilReady } from './wait-until-ready.ts'

/** Size of the last process output that is quoted in the reason of a failed start, bytes. */
const lastWordsMaxBytes = 1500
/** The maximum length of the stored reason for a failed start, in characters. */
const reasonMaxChars = 2000
/** How long an agent process whose start failed has to exit before it is killed, in milliseconds. */
const stopGraceMs = 2000

/** Starts agents. Concurrent callers that need the same agent share one start. */
export interface AgentStarts {
  /**
   * Resolves when the agent answers; at once if the agent is running and `fresh` is not set. `fresh` re-creates the
   * sandbox, unless a start is in progress. Problems `unknown-agent`, `agent-unavailable`, `not-configured`,
   * `data-full`, `isolation-unavailable`, `packages-unavailable`, `packages-delayed`, `machine-full`,
   * `size-unavailable`.
   */
  start(agentId: string, options?: { readonly fresh?: boolean }): Promise<void>
  /** Aborts the agent's start in progress; that start then fails with this reason. */
  breakOff(agentId: string, reason: string): void
  breakOffAll(reason: string): void
}

export function createAgentStarts(context: AgentContext, meter: DataMeter): AgentStarts {
  const waits = context.sandboxes.startWaits
  const underWay = new Map<string, { readonly done: Promise<void>; readonly controller: AbortController }>()

  function start(agentId: string, options: { readonly fresh?: boolean } = {}): Promise<void> {
    const known = underWay.get(agentId)
    if (known) return known.done
    const controller = new AbortController()
    const done = context.mutex
      .take(agentId, async () => {
        const row = context.agents.require(agentId)
        refuseArchived(row)
        if (isLive(row.state.kind) && options.fresh !== true && context.sandboxes.addresses.has(agentId))
          return
        const wish = context.placing.wishOf(agentId)
        const placed = { wish, ...(await context.placing.place(wish)) }
        if (row.state.kind === 'restarting' || row.state.kind === 'quarantined') noteRestart(context, agentId)
        await meter.requireRoom(row)
        const size = agentSize(row.record.kind, context.settings.sizeSettings(agentId))
        const leave = context.room.enter({ agentId, kind: row.record.kind, size })
        try {
          waits.set(agentId, () => context.packages.stepOf(agentId))
          const packages = await context.packages.imageOf(agentId, controller.signal)
          waits.delete(agentId)
          await startPlaced(context, { before: row, placed, packages, size }, controller.signal)
        } finally {
          leave()
        }
      })
      .catch((error: unknown) => {
        if (error instanceof Problem && isWait(error)) waits.set(agentId, () => error.detail)
        else waits.delete(agentId)
        throw error
      })
      .finally(() => {
        if (underWay.get(agentId)?.controller === controller) underWay.delete(agentId)
      })
    underWay.set(agentId, { done, controller })
    return done
  }

  function breakOff(agentId: string, reason: string): void {
    underWay.get(agentId)?.controller.abort(new Problem('agent-unavailable', { detail: reason }))
    // Later callers do not share the aborted start; they begin another start once the aborting operation has ended.
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

/** Returns whether the start is tried again by itself: until then the agent waits for what the problem names. */
function isWait({ code }: Problem): boolean {
  return code === 'machine-full' || code === 'packages-delayed'
}

interface StartPlan {
  readonly size: AgentSize
  readonly before: AgentRow
  readonly placed: Placed
  /** The image with the agent's packages, null for the agent image, and the mark of their list and lock. */
  readonly packages: { readonly id: string | null; readonly mark: string }
}

/** Starts an agent. If its isolation level is no longer available, the start continues at the fallback level. */
async function startPlaced(
  context: AgentContext,
  { before, placed, packages, size }: StartPlan,
  signal: AbortSignal,
): Promise<void> {
  try {
    await startOnce(context, { before, placed, packages, size }, signal)
  } catch (error) {
    if (placed.rung === 'container' || signal.aborted) throw error
    // The isolation level may be the reason of the failure, so the level is tested again.
    context.placing.doubt(placed.rung)
    const { wish } = placed
    const now = await context.placing.place(wish).catch(() => placed)
    if (now.rung === placed.rung) throw error
    await startOnce(
      context,
      { before: context.agents.require(before.record.id), placed: { wish, ...now }, packages, size },
      signal,
    )
  }
}

async function startOnce(
  context: AgentContext,
  { before, placed, packages, size }: StartPlan,
  signal: AbortSignal,
): Promise<void> {
  const { id } = before.record
  signal.throwIfAborted()
  const model = before.record.model ?? context.settings.defaultModel()
  const startId = context.newId('start')
  const programs = programSetupOf(context.fleetEvents, id)
  const since = context.clock.now()
  const tokens = context.database.transaction(() => {
    context.agents.move(id, { kind: 'start', at: since }, startId)
    return context.tokens.issue(id, startId)
  })
  context.sandboxes.addresses.delete(id)
  context.sandboxes.outdated.delete(id)
  context.sandboxes.startedModels.set(id, model)
  context.sandboxes.startedPrograms.set(id, programs.mark)
  context.sandboxes.startedPackages.set(id, packages.mark)
  context.sandboxes.startedSizes.set(id, sizeMark(before.record.kind, size))
  context.sandboxes.placed.set(id, placed)
  // The tokens of the previous sandbox are invalid now, so subscribers learn that this sandbox is gone (F4).
  if (isLive(before.state.kind)) context.fleetEvents.sandboxGone.publish({ agentId: id, reason: 'restarted' })
  try {
    await context.briefings.write(id)
    const link = context.sandboxes.links.keyFor(id, startId)
    await context.briefings.layOnce(id, { doorToken: tokens.door, link })
    signal.throwIfAborted()
    const sandbox = await context.runtime.start(
      agentSandbox({
        agent: before.record,
        model,
        startId,
        tokens,
        endpoint: context.sandboxes.endpoint(),
        link,
        briefingDirectory: context.briefings.directoryOf(id),
        loopLimits: context.settings.loopLimits,
        dataLimitBytes: context.settings.dataLimitBytes(id),
        placed,
        programs,
        packages,
        size,
      }),
    )
    if (!sandbox.address) throw new Error('the container runtime returned no address for the agent')
    const connection = context.sandboxes.connect(id, sandbox.address)
    await waitUntilReady(context, { connection, doorToken: tokens.door, rung: placed.rung }, signal)
    // One-time files are removed before any run, because programs of a run must not find them.
    await context.briefings.takeOnce(id)
    context.sandboxes.addresses.set(id, sandbox.address)
    context.sandboxes.lastUsed.set(id, context.clock.now())
    announce(context, {
      agentId: id,
      startId,
      readyMs: context.clock.now() - since,
      warnings: [...(sandbox.warnings ?? []), ...fallbackWords(placed)],
    })
  } catch (error) {
    throw await rollBack(context, { agentId: id, startId, error: signal.aborted ? signal.reason : error })
  }
}

function fallbackWords({ rung, wish, fallback }: Placed): readonly string[] {
  return fallback === null
    ? []
    : [`the agent runs at isolation level ${rung} instead of ${wish.wanted}: ${fallback}`]
}

function announce(
  context: AgentContext,
  started: { agentId: string; startId: string; readyMs: number; warnings: readonly string[] },
): void {
  const { agentId, startId, readyMs } = started
  context.database.transaction(() => {
    context.agents.move(agentId, { kind: 'answer', at: context.clock.now() })
    context.journal.append({
      actor: 'system',
      action: 'agent.started',
      subject: agentId,
      detail: { start_id: startId, ready_ms: readyMs },
    })
    context.events.publish({ type: 'agent.started', agent_id: agentId, ready_ms: readyMs })
    for (const message of started.warnings) {
      context.journal.append({
        actor: 'system',
        action: 'agent.warned',
        subject: agentId,
        detail: { message },
      })
      context.events.publish({ type: 'agent.warned', agent_id: agentId, message })
    }
  })
  for (const warning of started.warnings)
    context.log.warn(
      { agentId, warning },
      'started an agent with different settings than requested; see the warning',
    )
  context.log.info({ agentId, startId, readyMs }, 'started an agent; it accepts work')
}

/** Revokes the tokens, stops the process and ends the state `starting` after a failed start. Returns the error. */
async function rollBack(
  context: AgentContext,
  failed: { readonly agentId: string; readonly startId: string; readonly error: unknown },
): Promise<Problem> {
  const { agentId, startId, error } = failed
  context.tokens.revoke(agentId)
  context.sandboxes.addresses.delete(agentId)
  await context.briefings.takeOnce(agentId)
  const lastWords = await lastWordsOf(context, agentId)
  try {
    await context.runtime.stop(agentId, { graceMs: stopGraceMs })
  } catch (stopError) {
    context.log.error(
      { agentId, startId, err: stopError },
      'failed to stop the sandbox of a failed start; its token is revoked and the next start replaces it',
    )
  }
  const outputText = lastWords === '' ? '' : `; the last output of the agent:\n${lastWords}`
  const reason = `${reasonOf(error)}${outputText}`.slice(0, reasonMaxChars)
  context.database.transaction(() => {
    loseSandbox(context, agentId, reason)
    context.journal.append({
      actor: 'system',
      action: 'agent.start-failed',
      subject: agentId,
      detail: { start_id: startId, reason: reasonOf(error).slice(0, 300) },
    })
  })
  context.log.warn(
    { agentId, startId, err: error },
    'failed to start an agent; the caller is notified and the next request retries',
  )
  return new Problem('agent-unavailable', {
    detail: `agent ${agentId} could not be started: ${reason}`,
    cause: error,
  })
}

/** Returns the last output of a failed start, without terminal control sequences, since a container printed it. */
async function lastWordsOf(context: AgentContext, agentId: string): Promise<string> {
  try {
    return sanitizeForPrompt(await context.runtime.logs(agentId, lastWordsMaxBytes)).trim()
  } catch {
    return ''
  }
}
