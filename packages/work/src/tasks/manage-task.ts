import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import { isTaskOpen, triedAgainAsNew } from '@flotilla/protocol/task-actions'
import type { ManageAction, TaskState } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { WorkEvents } from '../events/index.ts'
import { makerOf } from '@flotilla/identity/events'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { Kernel } from '@flotilla/identity/kernel'
import type { RunDelivery, RunLifecycle, RunQueries, RunRecord } from '../runs/index.ts'
import { originOf, requireTakesWork } from '../runs/index.ts'
import { requesterChain, creatorOf, emptyTask, refuseLoops } from './hand-off.ts'
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
  /** The answer to the assignee, or the reason for another action. */
  readonly note: string
  /** The agent that gets a rerouted task. */
  readonly to?: string | undefined
}

/**
 * Answers, retries, reroutes or cancels a task, for its creator or a caller that routes tasks. Throws the Problems
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
  readonly workEvents: Pick<WorkEvents, 'callsOfTask' | 'reasonsToGiveNoWork'>
  readonly identityEvents: Pick<IdentityEvents, 'makersOf'>
}

export function createManageTask(deps: ManageTaskDeps): ManageTask {
  const { database, access, guard } = deps
  return (caller, { taskId, action, note, to }) => {
    access.requireActing(caller)
    const noteText = noteOf(note)
    switch (action) {
      case 'answer': {
        const task = access.requireGiver(caller, taskId)
        if (noteText === '') throw new Problem('bad-request', { detail: '`note`: give the answer' })
        const spawned = isMakerOf(deps, caller, task.assignee)
        // The check runs before the transaction, because a rollback would remove the audit entry of a refusal.
        if (spawned) guard(caller, { do: 'spawn-agent' })
        else guardReach(guard, caller, task.assignee)
        return database.transaction(() => giveAnew(deps, caller, { task, action, words: noteText, spawned }))
      }
      case 'retry': {
        const task = access.requireRouter(caller, taskId)
        guardReach(guard, caller, task.assignee)
        return database.transaction(() =>
          isTaskOpen(task.state)
            ? giveAnew(deps, caller, { task, action, words: noteText })
            : giveAgain(deps, caller, { task, words: noteText || 'the task is retried', description: null }),
        )
      }
      case 'reroute': {
        const task = access.requireRouter(caller, taskId)
        if (to === undefined)
          throw new Problem('bad-request', { detail: '`to`: name the agent that gets it' })
        if (to === task.assignee)
          throw new Problem('bad-request', { detail: `\`to\`: agent ${to} already has the task` })
        guardReach(guard, caller, to)
        return database.transaction(() => giveAnew(deps, caller, { task, action, words: noteText, to }))
      }
      case 'cancel': {
        const task = access.requireGiver(caller, taskId)
        return database.transaction(() =>
          cancel(deps, caller, { task, words: noteText || 'the task was cancelled' }),
        )
      }
    }
  }
}

/** Throws unless the caller may give work to the agent. Call it before a transaction, which could undo the audit. */
function guardReach(guard: Guard, caller: Caller, to: string): void {
  guard(caller, { do: caller.kind === 'agent' ? 'message-agent' : 'submit-run', to })
}

/**
 * Returns whether the caller spawned the agent. Then the permission to spawn is enough to answer the agent's
 * questions; no permission to message the agent is needed.
 */
function isMakerOf(
  { identityEvents }: Pick<ManageTaskDeps, 'identityEvents'>,
  caller: Caller,
  agentId: string,
): boolean {
  return caller.kind === 'agent' && makerOf(identityEvents, agentId) === caller.agentId
}

interface GivenAnew {
  readonly task: TaskRecord
  readonly action: 'answer' | 'retry' | 'reroute'
  readonly words: string
  readonly to?: string
  /** True if the caller spawned the assignee. */
  readonly spawned?: boolean
}

/** Starts another round of the same task with a new run. A reroute also cancels the previous run. */
function giveAnew(
  deps: ManageTaskDeps,
  caller: Caller,
  { task, action, words, to, spawned }: GivenAnew,
): TaskView {
  const { ledger, moveTask, queue } = deps
  const assignee = to ?? task.assignee
  deps.requireAgent(assignee)
  // An answer is not new work, so it is allowed for agents that accept no new work.
  const isContinuation = action === 'answer'
  if (!isContinuation) requireTakesWork(deps.workEvents, assignee)
  refuseVainNeeds(deps.table, task)
  const parent = waitingRun(deps, caller, task)
  refuseLoops(parent ? ledger.chainOf(parent.id) : [], assignee)
  // A task that already waits for the same agent takes no additional place in its queue.
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
    notify: null,
  })
  if (!moved) throw refused(task, action)
  // The agent of a run that asked a question ends the run's turn itself.
  if (action === 'reroute') endRun(deps, task)
  return taskView(queue.enter(moved, { caller, parent, isContinuation, spawned }))
}

/** Returns the usage of a task's earlier rounds, because a limit applies to all of its runs together. */
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

function callsUpTo({ workEvents }: ManageTaskDeps, task: TaskRecord): number {
  return workEvents.callsOfTask.ask(task.id).reduce((sum, calls) => sum + calls, task.calls_before)
}

/**
 * Returns the run that gets the result: the run that waits for the task, or else the run that restarted it. Null for
 * people, who check for themselves.
 */
function waitingRun(deps: ManageTaskDeps, caller: Caller, task: TaskRecord): RunRecord | null {
  const asking = requesterChain(deps.ledger, caller)[0] ?? null
  const before = task.parent_run_id === null ? null : deps.ledger.find(task.parent_run_id)
  return before && !isTerminal(before.state) ? before : asking
}

/** Checks that a task that cannot start at once may wait with the others. Throws Problem `unprocessable`. */
function requireRoomToWait(queue: TaskQueue, task: TaskRecord, parent: RunRecord | null): void {
  if (queue.obstacle(task, parent) !== null) queue.requireRoom(task.assignee)
}

/** Throws Problem `conflict` if the task was already repeated. Each task has at most one successor. */
function refuseGivenAnew(table: TaskTable, task: TaskRecord): void {
  let last: TaskRecord | null = null
  for (let next = table.madeOf(task.id); next; next = table.madeOf(next.id)) last = next
  if (last === null) return
  throw new Problem('conflict', {
    detail: `the task was already repeated as ${last.id}, which is ${last.state}: continue with ${last.id}`,
  })
}

/**
 * Repeats a finished task as a new one, which has the remaining budget of the old one, because the limits apply to
 * the whole work. Tasks that needed the old one need the new one. Joins the caller's transaction.
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
  requireTakesWork(deps.workEvents, task.assignee)
  const parent = requesterChain(deps.ledger, caller)[0] ?? null
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

/** Cancels a task and all tasks that were handed off below it. Joins the caller's transaction. */
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
      notify: ledger.notifyRun,
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

/** Cancels the live run of a task. The task itself has already changed and is not affected. */
function endRun({ ledger }: Pick<ManageTaskDeps, 'ledger'>, task: TaskRecord): void {
  const run = task.run_id === null ? null : ledger.find(task.run_id)
  if (run && !isTerminal(run.state)) ledger.cancelRun({ kind: 'system' }, run.id)
}
