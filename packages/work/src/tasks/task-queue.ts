import { Problem } from '@flotilla/protocol/problem'
import { taskLimits } from '@flotilla/protocol/task-actions'
import type { Caller, Guard } from '@flotilla/identity/access'
import { ownerOfActor } from '@flotilla/identity/access'
import { hasRoom } from '@flotilla/foundation/intake'
import { reasonToPause } from '../events/index.ts'
import type { WorkEvents } from '../events/index.ts'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { Log } from '@flotilla/foundation/platform'
import type { RunDelivery, RunQueries, RunQueue, RunRecord } from '../runs/index.ts'
import type { Database } from '@flotilla/foundation/storage'
import type { MoveTask } from './move-task.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'

/** The maximum number of tasks of one agent that are started per round. */
const releasedMax = 50

type QueueRuns = Pick<RunQueue, 'submitRun' | 'isLaneFull'> &
  Pick<RunQueries, 'find'> &
  Pick<RunDelivery, 'notifyRun'>

/** Who starts a task, and the run that waits for it. */
interface BeginTask {
  readonly caller: Caller
  readonly parent: RunRecord | null
  readonly idempotencyKey?: string | null | undefined
  /** True if the caller spawned the assignee for this task. */
  readonly spawned?: boolean | undefined
  /** The assignee continues with it. */
  readonly isContinuation?: boolean | undefined
}

/** Starts tasks as runs; until a task can start, its row waits. */
export interface TaskQueue {
  /** Returns why the task cannot start now; null if it can. */
  obstacle(task: TaskRecord, parent: RunRecord | null): string | null
  /** Submits the run of a task. Joins the caller's transaction. Throws the Problems of `submitRun`. */
  submit(task: TaskRecord, begin: BeginTask): RunRecord
  /** Starts the task, or stores why it waits, and returns the new row. Joins the caller's transaction. */
  enter(task: TaskRecord, begin: BeginTask): TaskRecord
  /** Throws Problem `unprocessable` if too many tasks wait. */
  requireRoom(assignee: string): void
  /** Starts all waiting tasks of the agent that can start. */
  release(assignee: string): void
  releaseAll(): void
  /** Starts the tasks that need the given task, after the commit that ended the given task. */
  releaseNeeding(taskId: string): void
}

export function createTaskQueue(deps: {
  readonly database: Database
  readonly table: TaskTable
  readonly moveTask: MoveTask
  readonly ledger: QueueRuns
  readonly guard: Guard
  readonly identityEvents: Pick<IdentityEvents, 'personOf'>
  readonly log: Log
}): TaskQueue {
  const { database, table, ledger } = deps

  function obstacle(task: TaskRecord, parent: RunRecord | null): string | null {
    const unmet = unmetNeeds(table, task)
    if (unmet.length > 0)
      return `the task starts when ${unmet.join(', ')} ${unmet.length > 1 ? 'are' : 'is'} done`
    const proactive = parent?.proactive ?? false
    if (ledger.isLaneFull({ agentId: task.assignee, proactive })) {
      return `the queue of ${task.assignee} is full; the task starts when there is space`
    }
    return null
  }

  function submit(
    task: TaskRecord,
    { caller, parent, idempotencyKey, spawned = false, isContinuation = false }: BeginTask,
  ): RunRecord {
    return ledger.submitRun(caller, {
      agentId: task.assignee,
      input: { kind: 'task', task_id: task.id },
      idempotencyKey,
      parent,
      spawned,
      isContinuation,
      budgetUsd: leftOf(task.max_cost_usd, task.cost_before_usd, leastUsd),
      budgetTokens: leftOf(task.max_tokens, task.tokens_before, 1),
    })
  }

  function enter(task: TaskRecord, begin: BeginTask): TaskRecord {
    return database.transaction(() => {
      const waitsFor = obstacle(task, begin.parent)
      const run = waitsFor === null ? submit(task, begin) : null
      const next: TaskRecord = { ...task, run_id: run?.id ?? null, waits_for: waitsFor }
      if (!table.replace(task, next))
        throw new Problem('conflict', { detail: 'the task was changed by another request; read it again' })
      return next
    })
  }

  function begin(task: TaskRecord): void {
    const parent = task.parent_run_id === null ? null : ledger.find(task.parent_run_id)
    if (obstacle(task, parent) !== null) return
    // If the creator's permissions cannot be read now, the task keeps waiting.
    const caller = callerOf(task, deps.identityEvents)
    try {
      if (caller === null)
        throw new Problem('denied', { detail: `${task.creator}, who gave the task, was removed` })
      // The check runs outside of a transaction, because a rollback would remove the audit entry of a refusal.
      deps.guard(caller, { do: caller.kind === 'agent' ? 'message-agent' : 'submit-run', to: task.assignee })
      enter(task, { caller, parent })
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      if (error.code === 'lane-full' || error.code === 'disk-full') return
      const summary = `The task could not start: ${error.detail}`
      deps.moveTask(task, {
        action: 'lose',
        actor: 'system',
        words: summary,
        changes: { summary, blocked_by: 'infrastructure', waits_for: null },
        notify: ledger.notifyRun,
      })
    }
  }

  function release(assignee: string): void {
    for (const task of table.waitingOf(assignee, releasedMax)) {
      try {
        begin(task)
      } catch (error) {
        deps.log.error({ taskId: task.id, err: error }, 'failed to start a waiting task; retrying')
      }
    }
  }

  return {
    obstacle,
    submit,
    enter,
    requireRoom: (assignee) => {
      const { waitingPerAgentMax: perAgentMax, waitingMax: max } = taskLimits
      const rows = { own: table.waitingCount(assignee), total: table.waitingCount() }
      if (hasRoom(rows, { perAgentMax, max, floor: 1 })) return
      throw new Problem('unprocessable', {
        detail: `too many tasks are waiting (${taskLimits.waitingPerAgentMax} of one agent, ${taskLimits.waitingMax} of all): wait until some have started, or cancel some`,
      })
    },
    release,
    releaseAll: () => table.assigneesWithWaiting().forEach(release),
    releaseNeeding: (taskId) => {
      const assignees = new Set(table.needing(taskId).map((task) => task.assignee))
      for (const assignee of assignees) release(assignee)
    },
  }
}

/** The least budget of a run, US dollars: with it, a run whose task has no budget left fails at its first call. */
const leastUsd = 0.000001

/** Returns what is left of a limit for later rounds, at least `least`. Pure. */
function leftOf(max: number | null, before: number, least: number): number | null {
  return max === null ? null : Math.max(least, max - before)
}

/** Throws Problem `conflict` if the task needs a failed or cancelled task, because it would then wait for ever. */
export function refuseVainNeeds(table: Pick<TaskTable, 'find'>, { needs }: Pick<TaskRecord, 'needs'>): void {
  const vain = needs.find((id) => ['failed', 'cancelled'].includes(table.find(id)?.state ?? 'done'))
  if (vain === undefined) return
  throw new Problem('conflict', {
    detail: `the task needs ${vain}, which is ${table.find(vain)?.state}: retry ${vain} first, or remove it from the field needs`,
  })
}

/** Returns the ids of needs that are not done. A deleted task counts as done. */
function unmetNeeds(table: Pick<TaskTable, 'find'>, task: Pick<TaskRecord, 'needs'>): string[] {
  return task.needs.filter((id) => (table.find(id)?.state ?? 'done') !== 'done')
}

/**
 * Returns the creator as a caller with their current permissions; null for a removed person. A creator without a name
 * is the owner of this machine.
 */
function callerOf(
  { origin, creator }: Pick<TaskRecord, 'origin' | 'creator'>,
  { personOf }: Pick<IdentityEvents, 'personOf'>,
): Caller | null {
  switch (origin.kind) {
    case 'operator':
    case 'agent':
      return { kind: 'agent', agentId: origin.user ?? '', token: 'door', run: null }
    case 'human': {
      const { role, agents, ...named } = ownerOfActor(creator)
      const now = named.person === undefined ? { role, agents } : personOf.ask(named.person)[0]
      if (now === undefined) return null
      return {
        ...named,
        role: now.role,
        ...(now.agents === undefined ? {} : { agents: now.agents }),
        channel: origin.channel,
        ...(origin.user === undefined ? {} : { user: origin.user }),
      }
    }
    case 'system':
    case 'cron':
    case 'heartbeat':
    case 'webhook':
    case 'watcher':
      return { kind: 'system' }
  }
}

/** Returns why the agent will not start a queued task at once; null if no reason is known. */
export function reachNote(
  deps: {
    readonly workEvents: Pick<WorkEvents, 'reasonsToPause'>
    /** Returns why an agent cannot be reached now. */
    readonly unreachable: (agentId: string) => string | null
  },
  run: Pick<RunRecord, 'agentId' | 'proactive'>,
): string | null {
  const paused = run.proactive ? reasonToPause(deps.workEvents, run.agentId) : null
  return paused ?? deps.unreachable(run.agentId)
}
