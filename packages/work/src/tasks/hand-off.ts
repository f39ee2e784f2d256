import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { taskLimits } from '@flotilla/protocol/task-actions'
import type { TaskState } from '@flotilla/protocol/task-actions'
import type { TaskArtifact, TokenBudget } from '@flotilla/protocol/task'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { RunLifecycle, RunQueries, RunRecord } from '../runs/index.ts'
import { originOf, requireTakesWork } from '../runs/index.ts'
import { record } from './move-task.ts'
import type { TaskHistory } from './task-history.ts'
import { reachNote, refuseVainNeeds } from './task-queue.ts'
import type { TaskQueue } from './task-queue.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'
import type { TaskAccess } from './task-access.ts'
import { runLimits } from '../runs/index.ts'
import type { WorkKernel } from '../events/index.ts'

export interface HandOffInput {
  readonly to: string
  readonly title: string
  readonly description: string
  readonly data: JsonObject
  /** The budget of the task. The limit of the calling run also applies; the lower one counts. */
  readonly tokenBudget?: TokenBudget | null
  /** The maximum number of model answers over all runs of the task. The fleet's limit also applies. */
  readonly maxTurns?: number | null
  /** Ids of tasks that must be done before this task starts. */
  readonly needs?: readonly string[]
  /** Names of files that the caller saved and that the assignee may read. */
  readonly artifacts?: readonly string[]
  readonly idempotencyKey?: string | null | undefined
}

export interface HandOffReply {
  readonly task_id: string
  /** The run that carries out the task; null while the task waits. */
  readonly run_id: string | null
  readonly state: TaskState
  /** Why the stored task does not start at once; null if it does. */
  readonly note: string | null
}

interface GiveTaskDeps extends Pick<
  WorkKernel,
  'database' | 'events' | 'journal' | 'clock' | 'newId' | 'workEvents'
> {
  readonly ledger: Pick<RunLifecycle, 'live'> & Pick<RunQueries, 'chainOf' | 'find'>
  readonly table: TaskTable
  readonly history: TaskHistory
  readonly queue: TaskQueue
  readonly access: TaskAccess
  readonly projectOf: (agentId: string) => string | null
  /** Throws the Problems `unknown-agent`, and `agent-archived` for an archived agent. */
  readonly requireAgent: (agentId: string) => void
  readonly unreachable: (agentId: string) => string | null
}

/**
 * Gives a task to another agent without waiting. Task and run are written in one transaction. If the task cannot
 * start yet, because of its needs or a full lane, only the task is stored and starts later. Throws the Problems
 * `denied`, `stale-fence`, `hand-off-refused` for a cycle or a depth over 8, `not-found` for an unknown task in
 * `needs`, and those of `submitRun`.
 */
export type HandOff = (caller: Caller, input: HandOffInput) => HandOffReply

export function createHandOff(deps: GiveTaskDeps & { readonly guard: Guard }): HandOff {
  const giveTask = createGiveTask(deps)
  return (caller, input) => {
    deps.guard(caller, { do: 'route-tasks' })
    deps.guard(caller, { do: caller.kind === 'agent' ? 'message-agent' : 'submit-run', to: input.to })
    return giveTask(caller, input)
  }
}

/**
 * Does what `HandOff` does, for use cases with their own permission checks. `spawned` is set if the caller spawned
 * the assignee.
 */
export type GiveTask = (caller: Caller, input: HandOffInput & { readonly spawned?: boolean }) => HandOffReply

export function createGiveTask(deps: GiveTaskDeps): GiveTask {
  const { database, ledger, table, queue } = deps
  return (caller, input) => {
    deps.requireAgent(input.to)
    // Checked now as well as when the task starts, so that the caller learns it at once.
    if (input.spawned !== true) requireTakesWork(deps.workEvents, input.to)
    return database.transaction(() => {
      const chain = requesterChain(ledger, caller)
      const known = knownBy(deps, caller, input)
      if (known) return repeated(known, input)
      refuseLoops(chain, input.to)
      for (const id of input.needs ?? []) deps.access.requireSeen(caller, id)
      const task = newTask(deps, caller, { input, parent: chain[0] ?? null })
      refuseVainNeeds(table, task)
      const parent = chain[0] ?? null
      const waitsFor = queue.obstacle(task, parent)
      if (waitsFor !== null) queue.requireRoom(input.to)
      const run =
        waitsFor === null
          ? queue.submit(task, {
              caller,
              parent,
              idempotencyKey: input.idempotencyKey,
              spawned: input.spawned,
            })
          : null
      if (run && run.taskId !== task.id) return repeated(taskOfRun(table, run), input)
      const kept: TaskRecord = { ...task, run_id: run?.id ?? null, waits_for: waitsFor }
      table.insert(kept)
      record(deps, kept, { action: 'given', actor: actorOf(caller), words: waitsFor ?? '' })
      return replyOf(kept, run ? reachNote(deps, run) : waitsFor)
    })
  }
}

function replyOf(task: TaskRecord, why: string | null): HandOffReply {
  const note =
    why === null ? null : `${why}. The task is kept and starts automatically: do not give it again.`
  return { task_id: task.id, run_id: task.run_id, state: task.state, note }
}

/** Returns the calling live run and its ancestors, nearest first; empty for people and the mesh. */
export function requesterChain(
  ledger: Pick<RunLifecycle, 'live'> & Pick<RunQueries, 'chainOf'>,
  caller: Caller,
): readonly RunRecord[] {
  if (caller.kind !== 'agent') return []
  if (!caller.run)
    throw new Problem('stale-fence', { detail: 'only a run that is in progress may hand off work' })
  ledger.live.ticketOf(caller.run.runId, caller.run.fence)
  return ledger.chainOf(caller.run.runId)
}

export function refuseLoops(chain: readonly RunRecord[], to: string): void {
  const asking = chain[0]
  if (!asking) return
  if (asking.depth + 1 > runLimits.handOffDepthMax) {
    throw new Problem('hand-off-refused', {
      detail: `work may be handed off at most ${runLimits.handOffDepthMax} times`,
    })
  }
  if (chain.some((run) => run.agentId === to)) {
    throw new Problem('hand-off-refused', {
      detail: `agent ${to} is already waiting for the result of this run, so a hand-off would create a cycle`,
    })
  }
}

function knownBy({ table }: GiveTaskDeps, caller: Caller, input: HandOffInput): TaskRecord | null {
  return input.idempotencyKey ? table.findByKey(creatorOf(caller), input.idempotencyKey) : null
}

/** Returns the reply for a repeated key: the first task in its current state. */
function repeated(task: TaskRecord | null, input: HandOffInput): HandOffReply {
  const same = task && task.title === input.title && task.description === input.description
  if (!same || (task.round === 0 && task.assignee !== input.to)) {
    throw new Problem('conflict', { detail: 'this idempotency key was used for another request' })
  }
  return replyOf(task, task.waits_for)
}

function taskOfRun(table: TaskTable, run: RunRecord): TaskRecord | null {
  return run.taskId === null ? null : table.find(run.taskId)
}

export function creatorOf(caller: Caller): string {
  return caller.kind === 'agent' ? caller.agentId : actorOf(caller)
}

function newTask(
  deps: GiveTaskDeps,
  caller: Caller,
  { input, parent }: { readonly input: HandOffInput; readonly parent: RunRecord | null },
): TaskRecord {
  const now = deps.clock.now()
  return {
    ...emptyTask,
    id: deps.newId('task'),
    creator: creatorOf(caller),
    assignee: input.to,
    title: input.title,
    description: input.description,
    data: input.data,
    project: deps.projectOf(input.to),
    origin: originOf(caller),
    parent_run_id: parent?.id ?? null,
    parent_task_id: parent?.taskId ?? null,
    idempotency_key: input.idempotencyKey ?? null,
    needs: [...new Set(input.needs)],
    artifacts: artifactsOf(caller, input.artifacts ?? []),
    max_turns: input.maxTurns ?? null,
    max_cost_usd: input.tokenBudget?.max_cost_usd ?? null,
    max_tokens: input.tokenBudget?.max_tokens ?? null,
    created_at: now,
    updated_at: now,
  }
}

/** The defaults of a new task. */
export const emptyTask = {
  state: 'pending',
  round: 0,
  project: null,
  parent_run_id: null,
  parent_task_id: null,
  previous_task_id: null,
  run_id: null,
  idempotency_key: null,
  needs: [],
  artifacts: [],
  waits_for: null,
  blocked_by: null,
  progress: null,
  max_turns: null,
  max_cost_usd: null,
  max_tokens: null,
  tokens_before: 0,
  cost_before_usd: 0,
  calls_before: 0,
  result: null,
  summary: null,
  outcome: null,
  feedback: null,
  outcome_by: null,
  outcome_at: null,
  completed_at: null,
} as const satisfies Partial<TaskRecord>

/** Returns the attachments of a task: files that the calling agent saved. Problem `unprocessable` above the limit. */
export function artifactsOf(
  caller: Caller,
  names: readonly string[],
  before: readonly TaskArtifact[] = [],
): TaskArtifact[] {
  const added = caller.kind === 'agent' ? names.map((name) => ({ agent_id: caller.agentId, name })) : []
  const all = new Map([...before, ...added].map((one) => [`${one.agent_id}/${one.name}`, one]))
  if (all.size > taskLimits.artifactsMax) {
    throw new Problem('unprocessable', {
      detail: `a task may have at most ${taskLimits.artifactsMax} artifacts`,
    })
  }
  return [...all.values()]
}
