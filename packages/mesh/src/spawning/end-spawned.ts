import type { Clock } from '@flotilla/protocol/clock'
import { isTaskOpen } from '@flotilla/protocol/task-actions'
import { isTerminal } from '@flotilla/protocol/run'
import type { AgentAdmin } from '../agents/index.ts'
import type { Journal } from '../journal/index.ts'
import type { Log } from '../platform/index.ts'
import type { RunLifecycle, RunQueries } from '../runs/index.ts'
import type { Database } from '../storage/index.ts'
import type { TaskRecord, TaskStore } from '../tasks/index.ts'
import type { SpawnedAgent, SpawnedTable } from './spawned-table.ts'

/** Nobody sleeps longer, so that a clock that was set is noticed. */
const sleepMaxMs = 30_000
/** What could not be taken away is tried again after so long. */
const againMs = 5000
/** Lives that end at the same moment are ended so many at a time. */
const endedAtOnce = 8

/**
 * Whether an agent lives on when a run of it has ended: it has asked and waits for the answer, or was answered before that
 * run came to its end. Pure.
 */
export function goesOnAfter(
  runId: string,
  task: Pick<TaskRecord, 'state' | 'blocked_by' | 'run_id'> | null,
): boolean {
  if (task === null || !isTaskOpen(task.state)) return false
  return task.run_id !== runId || (task.state === 'blocked' && task.blocked_by === 'question')
}

/**
 * Ends spawned agents whose life or task is over, in whatever life of the mesh that is noticed. That it ends is a row
 * before anything is taken away, in the transaction in which its parent's run is told; the row itself goes last.
 */
export function createEndSpawned(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  readonly journal: Journal
  readonly table: SpawnedTable
  readonly agents: Pick<AgentAdmin, 'shortLived'>
  readonly runs: Pick<RunQueries, 'find'> & Pick<RunLifecycle, 'cancelRun'>
  readonly tasks: Pick<TaskStore, 'table' | 'moveTask'>
}) {
  const { database, clock, log, journal, table, agents, runs, tasks } = deps
  let bell = new AbortController()

  function ring(): void {
    const rung = bell
    bell = new AbortController()
    rung.abort()
  }

  /** What it works on ends with it; whoever gave it is told as of any task that is cancelled. */
  function endWork({ agentId, runId, taskId }: SpawnedAgent, reason: string): void {
    const task = taskId === null ? null : tasks.table.find(taskId)
    // The one that it was made for, and the one in which it goes on with an answer.
    for (const id of new Set([runId, task?.assignee === agentId ? task.run_id : null])) {
      const run = id === null ? null : runs.find(id)
      if (run !== null && !isTerminal(run.state)) runs.cancelRun({ kind: 'system' }, run.id, `${reason}.`)
    }
    // Its giver has heard that it is blocked; nobody is left to go on with it, unless another agent was given it.
    const left = taskId === null ? null : tasks.table.find(taskId)
    if (left !== null && left.assignee === agentId && isTaskOpen(left.state)) {
      tasks.moveTask(left, { action: 'cancel', actor: 'system', words: `${reason}.`, tell: null })
    }
  }

  async function end(row: SpawnedAgent): Promise<void> {
    const { agentId } = row
    database.transaction(() => {
      const seconds = Math.round((row.endsAt - row.createdAt) / 1000)
      table.ends(agentId, `Its life of ${seconds} s is over`)
      endWork(row, table.find(agentId)?.reason ?? '')
    })
    // Those that it had made end with it, and first: they may what it may.
    for (const child of table.childrenOf(agentId)) {
      table.ends(child.agentId, 'Its parent has ended')
      await end({ ...child, state: 'ending' })
    }
    await agents.shortLived.remove(agentId)
    database.transaction(() => {
      const last = table.find(agentId)
      // Ended with its parent and by itself at the same moment.
      if (last === null) return
      const { reason } = last
      table.remove(agentId)
      journal.append({
        actor: 'system',
        action: 'agent.spawn-ended',
        subject: agentId,
        detail: { parent: row.parentId, reason },
      })
    })
    log.info({ agentId, parentId: row.parentId }, 'a spawned agent has ended and is taken away')
  }

  /** False where something could not be taken away. */
  async function endDue(): Promise<boolean> {
    const due = table.due(clock.now()).slice(0, endedAtOnce)
    const ends = await Promise.all(
      due.map(async (row) => {
        try {
          await end(row)
          return true
        } catch (error) {
          log.error({ agentId: row.agentId, err: error }, 'failed to delete a spawned agent; retrying')
          return false
        }
      }),
    )
    return ends.every((ended) => ended)
  }

  return {
    ring,
    /** Joins the caller's transaction; taken away by the loop. */
    endsNow: (agentId: string, reason: string): void => {
      if (table.ends(agentId, reason)) database.afterCommit(ring)
    },
    /** Before any run goes on: what an earlier mesh was about to make is not made any more. */
    takeUp: (): void => {
      for (const { agentId } of table.halfMade()) table.ends(agentId, 'It could not be made')
    },
    run: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        const rung = bell.signal
        const isAllGone = await endDue()
        if (isAllGone && table.due(clock.now()).length > 0) continue
        const untilEndMs = (table.nextEnd() ?? Infinity) - clock.now()
        const waitMs = isAllGone ? Math.max(0, Math.min(sleepMaxMs, untilEndMs)) : againMs
        await clock.sleep(waitMs, AbortSignal.any([signal, rung])).catch(() => {})
      }
    },
  }
}
