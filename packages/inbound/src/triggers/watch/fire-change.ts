import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { originUserMaxChars } from '@flotilla/protocol/origin'
import { Problem } from '@flotilla/protocol/problem'
import { unattendedSession } from '@flotilla/protocol/unattended-session'
import type { EventBus } from '@flotilla/foundation/events'
import type { SubmitRun } from '@flotilla/work/runs'
import type { Database } from '@flotilla/foundation/storage'
import { fillMessage } from './fill-message.ts'
import { nameAsText } from './scan-folder.ts'
import type { NoticedChange } from './seen-files.ts'
import type { WatchRule } from './watch-rule.ts'
import { watchName } from './watch-rule.ts'
import type { WatchTable } from './watch-table.ts'

type FireEnd =
  | { readonly kind: 'fired' }
  /** The change waits and is retried; `reason` is the text for the owner. */
  | { readonly kind: 'held'; readonly reason: string }

/** Submits a run of the watch's agent for one change of a file. */
export type FireChange = (rule: WatchRule, change: NoticedChange) => FireEnd

/**
 * Creates `FireChange`. Run, history row and removal of the waiting change are one transaction, so after
 * a crash the change is either waiting or fired. If the ledger rejects the run, the change keeps waiting.
 */
export function createFireChange(deps: {
  readonly database: Database
  readonly table: WatchTable
  readonly submitRun: SubmitRun
  readonly events: Pick<EventBus, 'publish'>
  /** Returns why the agent gets no triggered work at present, or null. */
  readonly pausedReason: (agentId: string) => string | null
  readonly clock: Clock
}): FireChange {
  const { database, table, submitRun, events } = deps

  function fire(rule: WatchRule, { name, change, stat }: NoticedChange): void {
    const filename = nameAsText(name)
    const filepath = watchName({ path: rule.path, pattern: filename })
    const watch = watchName(rule)
    const message = fillMessage(rule.message, { filename, filepath })
    const run = submitRun(
      { kind: 'system' },
      {
        agentId: rule.agent,
        input: { kind: 'chat', message, session: unattendedSession.folder(rule.id) },
        trigger: 'watcher',
        triggerId: watch.slice(0, originUserMaxChars),
        // Files whose folder was away and returned do not fire again. A different message or agent is new.
        idempotencyKey: [
          rule.id,
          digestOf([name, rule.agent, message]),
          stat.modifiedMs,
          stat.changedMs,
          stat.sizeBytes,
          stat.inode,
        ].join(':'),
      },
    )
    const fired = { watchId: rule.id, watch, agentId: rule.agent, filepath, change, runId: run.id }
    table.fired({ ...fired, sizeBytes: stat.sizeBytes, firedAt: deps.clock.now() })
    table.settle(rule.id, [name])
    events.publish({
      type: 'watch.fired',
      watch,
      agent_id: rule.agent,
      run_id: run.id,
      filepath,
      change,
    })
  }

  return (rule, change) => {
    const paused = deps.pausedReason(rule.agent)
    if (paused !== null) return { kind: 'held', reason: paused }
    try {
      database.transaction(() => fire(rule, change))
      return { kind: 'fired' }
    } catch (error) {
      if (error instanceof Problem) return { kind: 'held', reason: heldBecause(rule.agent, error) }
      throw error
    }
  }
}

function digestOf(texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 32)
}

function heldBecause(agentId: string, problem: Problem): string {
  if (problem.code === 'unknown-agent') return `there is no agent ${agentId}`
  if (problem.code === 'agent-archived') return `agent ${agentId} is archived`
  if (problem.code === 'lane-full') return `the lane of ${agentId} is full`
  return problem.detail
}
