import type { Clock } from '@flotilla/protocol/clock'
import type { HeartbeatFacts } from '@flotilla/protocol/heartbeat-api'
import type { AgentRecord } from '@flotilla/fleet/agents'
import type { Caller } from '@flotilla/identity/access'
import type { LanePlace, RunRecord, SubmitRun } from '@flotilla/work/runs'
import type { Database } from '@flotilla/foundation/storage'
import { fleetChanges } from './fleet-changes.ts'
import type { FleetFacts } from './fleet-changes.ts'
import { isSkipped } from './decide-heartbeat.ts'
import { heartbeatMessage, rulesLeftOut } from './heartbeat-message.ts'
import type { HeartbeatTable, KnownContext } from './heartbeat-table.ts'
import { runProbes } from './probes.ts'
import type { Messages } from '@flotilla/collaboration/messages'
import type { UnreadSummary } from '@flotilla/collaboration/topics'
import type { OpenTasks } from './probes.ts'
import type { createReadContext } from './read-context.ts'

/**
 * Why a due heartbeat was skipped: nothing to do, the previous one is still queued or running, the agent is archived,
 * or a pause.
 */
type HeartbeatSkip = 'nothing-to-do' | 'overlap' | 'archived' | 'paused'

export type HeartbeatEnd = { readonly fired: RunRecord } | { readonly skipped: HeartbeatSkip }

export interface DueHeartbeat {
  /** True if a person requested the heartbeat, which then always runs. */
  readonly manual: boolean
  /** The id of the due job, or null. */
  readonly jobId: string | null
  /** When the heartbeat was due, in milliseconds since 1970. Job and due time identify a heartbeat. */
  readonly dueAt: number
  /** The person who requested the heartbeat and owns its run. Absent for the mesh, whose heartbeats a pause stops. */
  readonly askedBy?: Caller
}

/**
 * Decides on a heartbeat and runs it if needed. May take as long as a container start. Throws the Problems
 * `unknown-agent`, `agent-archived` (manual only), `lane-full` (not if manual) and `disk-full`.
 */
export type FireHeartbeat = (agentId: string, due: DueHeartbeat) => Promise<HeartbeatEnd>

/** The parts of the run ledger that heartbeats use. */
interface HeartbeatRuns {
  readonly submitRun: SubmitRun
  find(runId: string): RunRecord | null
  /** Returns queued and running heartbeats of the agent, oldest first. */
  heartbeatsUnderWay(agentId: string): readonly RunRecord[]
  isLaneFull(place: LanePlace): boolean
  /** True if a chat or task of the agent was submitted or ended since its last heartbeat that started. */
  actedSinceHeartbeat(agentId: string): boolean
}

/** The state of the fleet from which the operator's changes are computed. */
export interface FleetNow {
  readonly facts: FleetFacts
  errorOf(agentId: string): string | null
}

export interface FireHeartbeatDeps {
  readonly database: Database
  readonly table: HeartbeatTable
  /** Problem `unknown-agent`. */
  readonly agentOf: (agentId: string) => AgentRecord
  readonly isArchived: (agentId: string) => boolean
  readonly pausedReason: (agentId: string) => string | null
  readonly readContext: ReturnType<typeof createReadContext>
  readonly unreadSignals: (agentId: string) => UnreadSummary
  readonly openTasks: (agentId: string) => OpenTasks
  readonly messages: Pick<Messages, 'keptFor' | 'deliverKept'>
  /** Returns the current fleet for the operator; null for a worker. */
  readonly fleetFor: (agentId: string) => FleetNow | null
  readonly runs: HeartbeatRuns
  readonly clock: Clock
}

export function createFireHeartbeat(deps: FireHeartbeatDeps): FireHeartbeat {
  return async (agentId, due) => {
    const agent = deps.agentOf(agentId)
    const key = keyOf(agentId, due)
    const before = endBefore(deps, agentId, key) ?? waitingByHand(deps, agentId, due)
    if (before) return before
    const skip = (reason: HeartbeatSkip, facts: HeartbeatFacts | null) =>
      skipped(deps, { agentId, key, manual: due.manual, reason, facts })
    const notNow = due.manual ? null : whyNotNow(deps, agentId)
    if (notNow) return skip(notNow, null)

    const signals = deps.unreadSignals(agentId)
    const tasks = deps.openTasks(agentId)
    const messages = deps.messages.keptFor(agentId)
    const fleet = deps.fleetFor(agentId)
    const reported = fleet && deps.table.fleetOf(agentId)
    const changes = fleet && reported ? fleetChanges(reported, fleet.facts, fleet.errorOf) : null
    const alertsFor = (facts: KnownContext | null) =>
      runProbes({
        signals,
        tasks,
        messages,
        changes: changes ?? [],
        diskUsedPercent: facts?.diskUsedPercent ?? null,
      })
    // The agent reports activity of the last two days; the ledger shows whether it was after the last heartbeat.
    const isActive = ({ recentActivity }: KnownContext): boolean =>
      recentActivity && deps.runs.actedSinceHeartbeat(agentId)
    const nothingToDo = (facts: KnownContext): boolean =>
      isSkipped({
        ...facts,
        recentActivity: isActive(facts),
        manual: due.manual,
        probeTriggered: alertsFor(facts).length > 0,
      })
    const reading = await deps.readContext(agentId, nothingToDo)
    const read = reading.from === 'nowhere' ? null : reading.facts
    const alerts = alertsFor(read)
    const facts: HeartbeatFacts = {
      default_rules: read?.defaultRules ?? null,
      recent_activity: read && isActive(read),
      disk_used_percent: read?.diskUsedPercent ?? null,
      unread_signals: signals.count,
      open_tasks: tasks.count,
      messages: messages.count,
      fleet_changes: (changes ?? []).filter(({ worse }) => worse).length,
      probes: alerts.map(({ probe }) => probe),
    }
    if (read && nothingToDo(read)) return skip('nothing-to-do', facts)
    const context = 'context' in reading ? reading.context : null
    const message = heartbeatMessage({ kind: agent.kind, context, alerts, signals, tasks, messages, changes })
    return submit(deps, {
      ...due,
      agentId,
      key,
      message,
      facts,
      leftOut: rulesLeftOut(context),
      told: messages.oldest.map(({ id }) => id),
      fleet: fleet?.facts ?? null,
    })
  }
}

function skipped(
  { table, clock }: FireHeartbeatDeps,
  due: {
    readonly agentId: string
    readonly key: string
    readonly manual: boolean
    readonly reason: HeartbeatSkip
    readonly facts: HeartbeatFacts | null
  },
): HeartbeatEnd {
  const { agentId, key, manual, reason, facts } = due
  table.fired(agentId, {
    key,
    at: clock.now(),
    manual,
    skipped: reason,
    run_id: null,
    rules_left_out: 0,
    facts,
  })
  return { skipped: reason }
}

/** Submits the run and records it in one transaction, so that a crash does not fire the heartbeat twice. */
function submit(
  deps: FireHeartbeatDeps,
  due: DueHeartbeat & {
    readonly agentId: string
    readonly key: string
    readonly message: string
    readonly facts: HeartbeatFacts
    readonly leftOut: number
    /** The ids of the messages that the heartbeat's text contains. */
    readonly told: readonly string[]
    readonly fleet: FleetFacts | null
  },
): HeartbeatEnd {
  const { agentId, key, manual, message, askedBy: requester = { kind: 'system' } } = due
  return deps.database.transaction(() => {
    // Another caller may have fired this or another heartbeat since this call asked the agent for its facts.
    const before = endBefore(deps, agentId, key) ?? waitingByHand(deps, agentId, due)
    if (before) return before
    if (!manual && isUnderWay(deps, agentId)) return skipped(deps, { ...due, reason: 'overlap' })
    const fired = deps.runs.submitRun(requester, {
      agentId,
      input: { kind: 'heartbeat', message },
      trigger: 'heartbeat',
      idempotencyKey: key,
      requestedByPerson: manual,
    })
    deps.messages.deliverKept(due.told, fired.id)
    const last = { at: deps.clock.now(), manual, skipped: null, run_id: fired.id }
    deps.table.fired(agentId, { key, ...last, rules_left_out: due.leftOut, facts: due.facts })
    if (due.fleet) deps.table.tellFleet(agentId, due.fleet)
    return { fired }
  })
}

function keyOf(agentId: string, { jobId, dueAt }: DueHeartbeat): string {
  return `heartbeat:${agentId}:${jobId ?? 'now'}:${dueAt}`
}

/** Returns the result of this heartbeat if it was fired before; otherwise null. */
function endBefore(deps: FireHeartbeatDeps, agentId: string, key: string): HeartbeatEnd | null {
  const last = deps.table.lastOf(agentId)
  if (last?.key !== key) return null
  // The cast is safe: this module writes only values of this type to the column.
  if (last.skipped !== null) return { skipped: last.skipped as HeartbeatSkip }
  const fired = last.run_id === null ? null : deps.runs.find(last.run_id)
  return fired && { fired }
}

/** If the lane is full, returns a requested heartbeat that already waits at its head, or else null: one may wait. */
function waitingByHand(
  { runs }: FireHeartbeatDeps,
  agentId: string,
  { manual }: DueHeartbeat,
): HeartbeatEnd | null {
  if (!manual || !runs.isLaneFull({ agentId, proactive: false })) return null
  const waiting = runs.heartbeatsUnderWay(agentId).find((run) => run.state === 'queued' && !run.proactive)
  return waiting ? { fired: waiting } : null
}

function whyNotNow(deps: FireHeartbeatDeps, agentId: string): HeartbeatSkip | null {
  if (deps.isArchived(agentId)) return 'archived'
  if (deps.pausedReason(agentId) !== null) return 'paused'
  return isUnderWay(deps, agentId) ? 'overlap' : null
}

/** True if any heartbeat is queued or running; the record of the last heartbeat does not cover earlier ones. */
function isUnderWay({ runs }: FireHeartbeatDeps, agentId: string): boolean {
  return runs.heartbeatsUnderWay(agentId).length > 0
}
