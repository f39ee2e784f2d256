import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import { isTaskOpen, triedAgainAsNew } from '@flotilla/protocol/task-actions'
import type { ManageAction, TaskState } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import { makerOf } from '@flotilla/identity/kernel'
import type { Hooks, Kernel } from '@flotilla/identity/kernel'
import type { RunDelivery, RunLifecycle, RunQueries, RunRecord } from '../runs/index.ts'
import { originOf, requireTakesWork } from '../runs/index.ts'
import { askingChain, creatorOf, emptyTask, refuseLoops } from './hand-off.ts'
import type { MoveTask } from './move-task.ts'
import { record } from './move-task.ts'
import type { TaskAccess } from './task-access.ts'
import type { TaskHistory } from './task-history.ts'
import { refuseVainNeeds } from './task-queue.ts'
import type { TaskQueue } from './task-queue.ts'
import { taskView } from './task-table.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'
import { noteOf, refused } from './update-task.ts'

export interface ManageTaskInput {
  readonly taskId: string
  readonly action: ManageAction
  /** The answer to the assignee, or the reason for the action. */
  readonly note: string
  /** The agent that gets a rerouted task. */
  readonly to?: string | undefined
}

/**
 * The creator of a task, or a caller that routes tasks, answers, retries, reroutes or cancels it. Throws the Problems
 * `denied`, `stale-fence`, `not-found`, `conflict` if the state does not allow it, `bad-request`, `hand-off-refused`
 * and those of `submitRun`.
 */
export type ManageTask = (caller: Caller, input: ManageTaskInput) => TaskView

export interface ManageTaskDeps extends Pick<
  Kernel,
  'database' | 'guard' | 'journal' | 'events' | 'clock' | 'newId'
> {
  readonly ledger: Pick<RunLifecycle, 'live' | 'cancelRun'> &
    Pick<RunQueries, 'chainOf' | 'find' | 'usedBy'> &
    Pick<RunDelivery, 'notifyRun'>
  readonly table: TaskTable
  readonly history: TaskHistory
  readonly moveTask: MoveTask
  readonly queue: TaskQueue
  readonly access: TaskAccess
  readonly projectOf: (agentId: string) => string | null
  readonly requireAgent: (agentId: string) => void
  readonly hooks: Pick<Hooks, 'callsOfTask' | 'reasonsToGiveNoWork' | 'makersOf'>
}

export function createManageTask(deps: ManageTaskDeps): ManageTask {
  const { database, access, guard } = deps
  return (caller, { taskId, action, note, to }) => {
    access.requireActing(caller)
    const words = noteOf(note)
    switch (action) {
      case 'answer': {
        const task = access.requireGiver(caller, taskId)
        if (words === '') throw new Problem('bad-request', { detail: '`note`: give the answer' })
        const spawned = isMakerOf(deps, caller, task.assignee)
        // The check runs before the transaction, so that the record of a refusal is not rolled back.
        if (spawned) guard(caller, { do: 'spawn-agent' })
        else guardReach(guard, caller, task.assignee)
        return database.transaction(() => giveAnew(deps, caller, { task, action, words, spawned }))
      }
      case 'retry': {
        const task = access.requireRouter(caller, taskId)
        guardReach(guard, caller, task.assignee)
        return database.transaction(() =>
          isTaskOpen(task.state)
            ? giveAnew(deps, caller, { task, action, words })
            : giveAgain(deps, caller, { task, words: words || 'the task is retried', description: null }),
        )
      }
      case 'reroute': {
        const task = access.requireRouter(caller, taskId)
        if (to === undefined)
          throw new Problem('bad-request', { detail: '`to`: name the agent that gets it' })
        if (to === task.assignee)
          throw new Problem('bad-request', { detail: `\`to\`: agent ${to} already has the task` })
        guardReach(guard, caller, to)
        return database.transaction(() => giveAnew(deps, caller, { task, action, words, to }))
      }
      case 'cancel': {
        const task = access.requireGiver(caller, taskId)
        return database.transaction(() =>
          cancel(deps, caller, { task, words: words || 'the task was cancelled' }),
        )
      }
    }
  }
}

/** The check runs before the transaction, so that the record of a refusal is not rolled back. */
function guardReach(guard: Guard, caller: Caller, to: string): void {
  guard(caller, { do: caller.kind === 'agent' ? 'message-agent' : 'submit-run', to })
}

/**
 * An agent that spawned another may answer its questions with the permission to spawn; it needs no permission to
 * message it.
 */
function isMakerOf({ hooks }: Pick<ManageTaskDeps, 'hooks'>, caller: Caller, agentId: string): boolean {
  return caller.kind === 'agent' && makerOf(hooks, agentId) === caller.agentId
}

interface GivenAnew {
  readonly task: TaskRecord
  readonly action: 'answer' | 'retry' | 'reroute'
  readonly words: string
  readonly to?: string
  /** The assignee was spawned by the caller. */
  readonly spawned?: boolean
}

/** Starts another round of the same task with a new run. The previous run ends. */
function giveAnew(
  deps: ManageTaskDeps,
  caller: Caller,
  { task, action, words, to, spawned }: GivenAnew,
): TaskView {
  const { ledger, moveTask, queue } = deps
  const assignee = to ?? task.assignee
  deps.requireAgent(assignee)
  // An answer is not new work, so it is allowed for agents that accept none.
  const isContinuation = action === 'answer'
  if (!isContinuation) requireTakesWork(deps.hooks, assignee)
  refuseVainNeeds(deps.table, task)
  const parent = waitingRun(deps, caller, task)
  refuseLoops(parent ? ledger.chainOf(parent.id) : [], assignee)
  // A task that already waits for the same agent takes no additional place.
  if (task.waits_for === null || assignee !== task.assignee) {
    requireRoomToWait(queue, { ...task, assignee }, parent)
  }
  const moved = moveTask(task, {
    action,
    actor: actorOf(caller),
    words: to === undefined ? words : `from ${task.assignee} to ${to}${words === '' ? '' : `: ${words}`}`,
    changes: {
      assignee,
      round: task.round + 1,
      project: deps.projectOf(assignee),
      parent_run_id: parent?.id ?? null,
      waits_for: null,
      run_id: null,
      ...usedUpTo(deps, task),
    },
    tell: null,
  })
  if (!moved) throw refused(task, action)
  // A run that asked a question ends its turn by itself.
  if (action === 'reroute') endRun(deps, task)
  return taskView(queue.enter(moved, { caller, parent, isContinuation, spawned }))
}

/** A limit applies to the task, over all its runs. */
function usedUpTo(
  { ledger }: ManageTaskDeps,
  task: TaskRecord,
): Pick<TaskRecord, 'tokens_before' | 'cost_before_usd'> {
  const last = task.run_id === null ? null : ledger.usedBy(task.run_id)
  return {
    tokens_before: task.tokens_before + (last?.tokens ?? 0),
    cost_before_usd: task.cost_before_usd + (last?.costUsd ?? 0),
  }
}

function callsUpTo({ hooks }: ManageTaskDeps, task: TaskRecord): number {
  return hooks.callsOfTask.ask(task.id).reduce((sum, calls) => sum + calls, task.calls_before)
}

/**
 * The run that gets the result: the one that waits for it, or else the one that restarted the task. People check for
 * themselves.
 */
function waitingRun(deps: ManageTaskDeps, caller: Caller, task: TaskRecord): RunRecord | null {
  const asking = askingChain(deps.ledger, caller)[0] ?? null
  const before = task.parent_run_id === null ? null : deps.ledger.find(task.parent_run_id)
  return before && !isTerminal(before.state) ? before : asking
}

/** A task that cannot start at once takes a place among the waiting ones. Throws Problem `unprocessable`. */
function requireRoomToWait(queue: TaskQueue, task: TaskRecord, parent: RunRecord | null): void {
  if (queue.obstacle(task, parent) !== null) queue.requireRoom(task.assignee)
}

/** A task can be repeated only once, so that its successors form a chain. Throws Problem `conflict`. */
function refuseGivenAnew(table: TaskTable, task: TaskRecord): void {
  let last: TaskRecord | null = null
  for (let next = table.madeOf(task.id); next; next = table.madeOf(next.id)) last = next
  if (last === null) return
  throw new Problem('conflict', {
    detail: `the task was already repeated as ${last.id}, which is ${last.state}: continue with ${last.id}`,
  })
}

/**
 * Repeats a finished task as a new one. Tasks that needed the old one need the new one. It keeps the remaining budget
 * of the old one, because the limits apply to the whole work. Joins the caller's transaction.
 */
export function giveAgain(
  deps: ManageTaskDeps,
  caller: Caller,
  again: { readonly task: TaskRecord; readonly words: string; readonly description: string | null },
): TaskView {
  const { table, queue } = deps
  const { task, words } = again
  const states: readonly TaskState[] = triedAgainAsNew
  if (again.description === null && !states.includes(task.state)) throw refused(task, 'retry')
  refuseGivenAnew(table, task)
  deps.requireAgent(task.assignee)
  requireTakesWork(deps.hooks, task.assignee)
  const parent = askingChain(deps.ledger, caller)[0] ?? null
  refuseLoops(parent ? deps.ledger.chainOf(parent.id) : [], task.assignee)
  const now = deps.clock.now()
  const fresh: TaskRecord = {
    ...emptyTask,
    id: deps.newId('task'),
    creator: creatorOf(caller),
    assignee: task.assignee,
    title: task.title,
    description: again.description ?? task.description,
    data: task.data,
    project: deps.projectOf(task.assignee),
    origin: originOf(caller),
    parent_run_id: parent?.id ?? null,
    parent_task_id: parent?.taskId ?? null,
    previous_task_id: task.id,
    needs: task.needs,
    artifacts: task.artifacts,
    max_turns: task.max_turns,
    max_cost_usd: task.max_cost_usd,
    max_tokens: task.max_tokens,
    ...usedUpTo(deps, task),
    calls_before: callsUpTo(deps, task),
    created_at: now,
    updated_at: now,
  }
  requireRoomToWait(queue, fresh, parent)
  table.insert(fresh)
  record(deps, fresh, { action: 'given', actor: actorOf(caller), words })
  for (const needing of table.needing(task.id)) {
    const needs = needing.needs.map((id) => (id === task.id ? fresh.id : id))
    table.replace(needing, { ...needing, needs })
  }
  return taskView(queue.enter(fresh, { caller, parent }))
}

/** Cancels a task and all hand-offs below it. Joins the caller's transaction. */
function cancel(
  deps: ManageTaskDeps,
  caller: Caller,
  { task, words }: { readonly task: TaskRecord; readonly words: string },
): TaskView {
  const { table, ledger } = deps
  const ended = (one: TaskRecord, why: string): TaskRecord | null =>
    deps.moveTask(one, {
      action: 'cancel',
      actor: actorOf(caller),
      words: why,
      changes: { summary: why, waits_for: null },
      tell: ledger.notifyRun,
    })
  const moved = ended(task, words)
  if (!moved) throw refused(task, 'cancel')
  endRun(deps, task)
  const below = [...table.openBelow(task.id)]
  for (let one = below.shift(); one; one = below.shift()) {
    const current = table.find(one.id) ?? one
    below.push(...table.openBelow(one.id))
    if (ended(current, `the task ${task.id}, which handed off this task, was cancelled`))
      endRun(deps, current)
  }
  return taskView(moved)
}

/** Cancels the live run of a task. The task has already moved and is not affected. */
function endRun({ ledger }: Pick<ManageTaskDeps, 'ledger'>, task: TaskRecord): void {
  const run = task.run_id === null ? null : ledger.find(task.run_id)
  if (run && !isTerminal(run.state)) ledger.cancelRun({ kind: 'system' }, run.id)
}
