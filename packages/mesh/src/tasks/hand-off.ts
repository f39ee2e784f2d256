import type { JsonObject } from '@flotilla/protocol/json-value'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { taskLimits } from '@flotilla/protocol/task-actions'
import type { TaskState } from '@flotilla/protocol/task-actions'
import type { TaskArtifact, TokenBudget } from '@flotilla/protocol/task'
import type { Caller, Guard } from '../access/index.ts'
import { actorOf } from '../access/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { RunLifecycle, RunQueries, RunRecord } from '../runs/index.ts'
import { originOf, requireTakesWork } from '../runs/index.ts'
import { record } from './move-task.ts'
import type { TaskHistory } from './task-history.ts'
import { reachNote, refuseVainNeeds } from './task-queue.ts'
import type { TaskQueue } from './task-queue.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'
import type { TaskAccess } from './task-access.ts'

export interface HandOffInput {
  readonly to: string
  readonly title: string
  readonly description: string
  readonly data: JsonObject
  /** What the assignee may use; a cap of the run that asks holds for it too, whichever is lower. */
  readonly tokenBudget?: TokenBudget | null
  /** Answers of the model, over all runs; the fleet's own cap holds too. */
  readonly maxTurns?: number | null
  /** Tasks that must be done before it begins. */
  readonly needs?: readonly string[]
  /** Names of files that the caller has saved: the assignee may read them. */
  readonly artifacts?: readonly string[]
  readonly idempotencyKey?: string | null | undefined
}

export interface HandOffReply {
  readonly task_id: string
  /** Null while it waits. */
  readonly run_id: string | null
  readonly state: TaskState
  /** Why it does not begin at once; the task is kept all the same. */
  readonly note: string | null
}

interface GiveTaskDeps extends Pick<Kernel, 'database' | 'hooks' | 'events' | 'journal' | 'clock' | 'newId'> {
  readonly ledger: Pick<RunLifecycle, 'live'> & Pick<RunQueries, 'chainOf' | 'find'>
  readonly table: TaskTable
  readonly history: TaskHistory
  readonly queue: TaskQueue
  readonly access: TaskAccess
  readonly projectOf: (agentId: string) => string | null
  /** Throws the Problem `unknown-agent`, or `agent-archived` for one that is given no work. */
  readonly requireAgent: (agentId: string) => void
  readonly unreachable: (agentId: string) => string | null
}

/**
 * Gives a task to another agent and never waits: task and run are rows of one transaction. Where it cannot begin yet,
 * because of what it needs or because the lane is full, the task alone is kept and begins by itself. Problems: `denied`,
 * `stale-fence`, `hand-off-refused` for a loop or a depth over 8, `not-found` for a task that it is to need, those of `submitRun`.
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
 * The same for use cases that have asked by themselves whether the caller may: `spawned` for one to whom its assignee
 * was made.
 */
export type GiveTask = (caller: Caller, input: HandOffInput & { readonly spawned?: boolean }) => HandOffReply

export function createGiveTask(deps: GiveTaskDeps): GiveTask {
  const { database, ledger, table, queue } = deps
  return (caller, input) => {
    deps.requireAgent(input.to)
    // At once, and not only when what it needs is done.
    if (input.spawned !== true) requireTakesWork(deps.hooks, input.to)
    return database.transaction(() => {
      const chain = askingChain(ledger, caller)
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
  const note = why === null ? null : `${why}. The task is kept and begins by itself: do not give it again.`
  return { task_id: task.id, run_id: task.run_id, state: task.state, note }
}

/** The live run that asks, and those above it, nearest first; empty for people and the mesh. */
export function askingChain(
  ledger: Pick<RunLifecycle, 'live'> & Pick<RunQueries, 'chainOf'>,
  caller: Caller,
): readonly RunRecord[] {
  if (caller.kind !== 'agent') return []
  if (!caller.run) throw new Problem('stale-fence', { detail: 'only a live run can hand off' })
  ledger.live.ticketOf(caller.run.runId, caller.run.fence)
  return ledger.chainOf(caller.run.runId)
}

export function refuseLoops(chain: readonly RunRecord[], to: string): void {
  const asking = chain[0]
  if (!asking) return
  if (asking.depth + 1 > wireLimits.handOffDepthMax) {
    throw new Problem('hand-off-refused', {
      detail: `work may be handed on ${wireLimits.handOffDepthMax} times at most`,
    })
  }
  if (chain.some((run) => run.agentId === to)) {
    throw new Problem('hand-off-refused', { detail: `${to} waits for this work already` })
  }
}

function knownBy({ table }: GiveTaskDeps, caller: Caller, input: HandOffInput): TaskRecord | null {
  return input.idempotencyKey ? table.findByKey(creatorOf(caller), input.idempotencyKey) : null
}

/** The same key again: what was made the first time, as it is now. */
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

/** What is not said of a new task. */
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

/** Agents attach what they have saved themselves; people have saved nothing. Problem `unprocessable`. */
export function artifactsOf(
  caller: Caller,
  names: readonly string[],
  before: readonly TaskArtifact[] = [],
): TaskArtifact[] {
  const added = caller.kind === 'agent' ? names.map((name) => ({ agent_id: caller.agentId, name })) : []
  const all = new Map([...before, ...added].map((one) => [`${one.agent_id}/${one.name}`, one]))
  if (all.size > taskLimits.artifactsMax) {
    throw new Problem('unprocessable', { detail: `a task has ${taskLimits.artifactsMax} artifacts at most` })
  }
  return [...all.values()]
}
