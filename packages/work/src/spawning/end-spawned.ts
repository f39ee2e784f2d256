import type { Clock } from '@flotilla/protocol/clock'
import { isTaskOpen } from '@flotilla/protocol/task-actions'
import { isTerminal } from '@flotilla/protocol/run'
import type { AgentAdmin } from '@flotilla/fleet/agents'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { RunLifecycle, RunQueries } from '../runs/index.ts'
import type { Database } from '@flotilla/foundation/storage'
import type { TaskRecord, TaskStore } from '../tasks/index.ts'
import type { SpawnedAgent, SpawnedTable } from './spawned-table.ts'

/** Longest sleep of the loop, milliseconds, so that changes of the system clock are noticed. */
const sleepMaxMs = 30_000
/** Delay before a failed deletion is retried, milliseconds. */
const againMs = 5000
/** How many expired agents are deleted at the same time. */
const endedAtOnce = 8

/**
 * Returns true if a spawned agent continues after a run of it has ended: it waits for the answer to its question, or
 * got the answer before that run ended. Pure.
 */
export function continuesAfter(
  runId: string,
  task: Pick<TaskRecord, 'state' | 'blocked_by' | 'run_id'> | null,
): boolean {
  if (task === null || !isTaskOpen(task.state)) return false
  return task.run_id !== runId || (task.state === 'blocked' && task.blocked_by === 'question')
}

/**
 * Ends spawned agents whose time or task is over, even if only a later mesh process notices that. The end is stored
 * before anything is deleted, in the transaction that notifies the parent's run; the row itself is deleted last.
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
    const previous = bell
    bell = new AbortController()
    previous.abort()
  }

  /** Cancels the spawned agent's work; the agent that handed it the task is notified as for any cancelled task. */
  function endWork({ agentId, runId, taskId }: SpawnedAgent, reason: string): void {
    const task = taskId === null ? null : tasks.table.find(taskId)
    // The run for which the agent was spawned, and the run in which the agent continues with an answer.
    for (const id of new Set([runId, task?.assignee === agentId ? task.run_id : null])) {
      const run = id === null ? null : runs.find(id)
      if (run !== null && !isTerminal(run.state)) runs.cancelRun({ kind: 'system' }, run.id, `${reason}.`)
    }
    // Cancels the task if it is open and still the agent's: the creator knows of the question, and no agent goes on.
    const left = taskId === null ? null : tasks.table.find(taskId)
    if (left !== null && left.assignee === agentId && isTaskOpen(left.state)) {
      tasks.moveTask(left, { action: 'cancel', actor: 'system', words: `${reason}.`, notify: null })
    }
  }

  async function end(row: SpawnedAgent): Promise<void> {
    const { agentId } = row
    database.transaction(() => {
      const seconds = Math.round((row.endsAt - row.createdAt) / 1000)
      table.ends(agentId, `The lifetime of ${seconds} s of the spawned agent is over`)
      endWork(row, table.find(agentId)?.reason ?? '')
    })
    // Children of the spawned agent are ended first, because their permissions depend on it.
    for (const child of table.childrenOf(agentId)) {
      table.ends(child.agentId, 'The parent of the spawned agent has ended')
      await end({ ...child, state: 'ending' })
    }
    await agents.shortLived.remove(agentId)
    database.transaction(() => {
      const last = table.find(agentId)
      // The row is gone: the agent was ended as a child and by its own time limit at once.
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
    log.info({ agentId, parentId: row.parentId }, 'deleting a spawned agent that has ended')
  }

  /** Returns false if a deletion failed. */
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
    /** Marks the agent as ending in the caller's transaction; `run` deletes the agent. */
    endsNow: (agentId: string, reason: string): void => {
      if (table.ends(agentId, reason)) database.afterCommit(ring)
    },
    /** Ends agents that a previous process was creating. Called before runs continue. */
    takeUp: (): void => {
      for (const { agentId } of table.halfMade()) table.ends(agentId, 'The agent could not be created')
    },
    run: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        const previous = bell.signal
        const isAllGone = await endDue()
        if (isAllGone && table.due(clock.now()).length > 0) continue
        const untilEndMs = (table.nextEnd() ?? Infinity) - clock.now()
        const waitMs = isAllGone ? Math.max(0, Math.min(sleepMaxMs, untilEndMs)) : againMs
        await clock.sleep(waitMs, AbortSignal.any([signal, previous])).catch(() => {})
      }
    },
  }
}
