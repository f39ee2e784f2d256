import { Problem } from '@flotilla/protocol/problem'
import { taskLimits } from '@flotilla/protocol/task-actions'
import type { Caller, Guard } from '../access/index.ts'
import { ownerOfActor } from '../access/index.ts'
import { hasRoom } from '../intake/index.ts'
import { reasonToPause } from '../kernel/index.ts'
import type { Hooks } from '../kernel/index.ts'
import type { Log } from '../platform/index.ts'
import type { RunDelivery, RunQueries, RunQueue, RunRecord } from '../runs/index.ts'
import type { Database } from '../storage/index.ts'
import type { MoveTask } from './move-task.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'

/** Tasks of one agent that are looked at in one round. */
const releasedMax = 50

type QueueRuns = Pick<RunQueue, 'submitRun' | 'isLaneFull'> &
  Pick<RunQueries, 'find'> &
  Pick<RunDelivery, 'notifyRun'>

/** In whose name a task becomes a run, and for which run that waits. */
interface BeginTask {
  readonly caller: Caller
  readonly parent: RunRecord | null
  readonly idempotencyKey?: string | null | undefined
  /** The assignee was made for it by whoever asks. */
  readonly spawned?: boolean | undefined
  /** Its assignee goes on with it. */
  readonly goesOn?: boolean | undefined
}

/** A task becomes work by a run, and by nothing else; until it can, its row waits. */
export interface TaskQueue {
  /** Why it cannot begin now, in words; null where it can. */
  obstacle(task: TaskRecord, parent: RunRecord | null): string | null
  /** Its run, as a row. Joins the caller's transaction. Problems of `submitRun`. */
  submit(task: TaskRecord, begin: BeginTask): RunRecord
  /** Begins, or leaves it to wait and says why; the row as it stands then. Joins the caller's transaction. */
  enter(task: TaskRecord, begin: BeginTask): TaskRecord
  /** Problem `unprocessable` where too many wait. */
  requireRoom(assignee: string): void
  /** Whatever of the agent can begin now does. */
  release(assignee: string): void
  releaseAll(): void
  /** After the commit that ended a task: those that need it begin. */
  releaseNeeding(taskId: string): void
}

export function createTaskQueue(deps: {
  readonly database: Database
  readonly table: TaskTable
  readonly moveTask: MoveTask
  readonly ledger: QueueRuns
  readonly guard: Guard
  readonly hooks: Hooks
  readonly log: Log
}): TaskQueue {
  const { database, table, ledger } = deps

  function obstacle(task: TaskRecord, parent: RunRecord | null): string | null {
    const unmet = unmetNeeds(table, task)
    if (unmet.length > 0) return `it begins when ${unmet.join(', ')} ${unmet.length > 1 ? 'are' : 'is'} done`
    const proactive = parent?.proactive ?? false
    if (ledger.isLaneFull({ agentId: task.assignee, proactive })) {
      return `the lane of ${task.assignee} is full; it begins when there is room`
    }
    return null
  }

  function submit(
    task: TaskRecord,
    { caller, parent, idempotencyKey, spawned = false, goesOn = false }: BeginTask,
  ): RunRecord {
    return ledger.submitRun(caller, {
      agentId: task.assignee,
      input: { kind: 'task', task_id: task.id },
      idempotencyKey,
      parent,
      spawned,
      goesOn,
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
        throw new Problem('conflict', { detail: 'the task has moved meanwhile' })
      return next
    })
  }

  function begin(task: TaskRecord): void {
    const parent = task.parent_run_id === null ? null : ledger.find(task.parent_run_id)
    if (obstacle(task, parent) !== null) return
    // Where who gave it cannot be known now, it waits on.
    const caller = callerOf(task, deps.hooks)
    try {
      if (caller === null)
        throw new Problem('denied', { detail: `${task.creator}, who gave it, is nobody here any more` })
      // Outside of the transaction, so that a refusal stays on record.
      deps.guard(caller, { do: caller.kind === 'agent' ? 'message-agent' : 'submit-run', to: task.assignee })
      enter(task, { caller, parent })
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      if (error.code === 'lane-full' || error.code === 'disk-full') return
      const summary = `It could not begin: ${error.detail}`
      deps.moveTask(task, {
        action: 'lose',
        actor: 'system',
        words: summary,
        changes: { summary, blocked_by: 'infrastructure', waits_for: null },
        tell: ledger.notifyRun,
      })
    }
  }

  function release(assignee: string): void {
    for (const task of table.waitingOf(assignee, releasedMax)) {
      try {
        begin(task)
      } catch (error) {
        deps.log.error({ taskId: task.id, err: error }, 'a task that waits did not begin; it is tried again')
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
        detail: `too many tasks wait already (${taskLimits.waitingPerAgentMax} of one agent, ${taskLimits.waitingMax} of all): wait until some have begun, or cancel some`,
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

/** A run whose task has used all that it may says so itself, at its first call. */
const leastUsd = 0.000001

/** What later rounds may use of a cap. Pure. */
function leftOf(max: number | null, before: number, least: number): number | null {
  return max === null ? null : Math.max(least, max - before)
}

/** What ended otherwise will never be done, and whoever needs it would wait for ever. Problem `conflict`. */
export function refuseVainNeeds(table: Pick<TaskTable, 'find'>, { needs }: Pick<TaskRecord, 'needs'>): void {
  const vain = needs.find((id) => ['failed', 'cancelled'].includes(table.find(id)?.state ?? 'done'))
  if (vain === undefined) return
  throw new Problem('conflict', {
    detail: `it needs ${vain}, which is ${table.find(vain)?.state}: have that done again first (retry it), or do without it`,
  })
}

/** Those that are not done. One whose row is gone was done long ago. */
function unmetNeeds(table: Pick<TaskTable, 'find'>, task: Pick<TaskRecord, 'needs'>): string[] {
  return task.needs.filter((id) => (table.find(id)?.state ?? 'done') !== 'done')
}

/**
 * Who gave it, as a caller who is not on the line, with what they may now; null for a person who is nobody any more.
 * Whoever has no name among people is the owner of this machine.
 */
function callerOf(
  { origin, creator }: Pick<TaskRecord, 'origin' | 'creator'>,
  { personOf }: Pick<Hooks, 'personOf'>,
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

/** Why the agent will not begin at once although its task is queued, for whoever gave it; null where nothing is known. */
export function reachNote(
  deps: {
    readonly hooks: Pick<Hooks, 'reasonsToPause'>
    /** Why an agent cannot be reached at the moment, in words. */
    readonly unreachable: (agentId: string) => string | null
  },
  run: Pick<RunRecord, 'agentId' | 'proactive'>,
): string | null {
  const paused = run.proactive ? reasonToPause(deps.hooks, run.agentId) : null
  return paused ?? deps.unreachable(run.agentId)
}
