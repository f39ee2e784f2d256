import type { WatchUseCases } from '../triggers/watch/people.routes.ts'
import type { DataPaths } from '../config/data-paths.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { Log } from '../platform/log.ts'
import type { Guard } from '../access/action.ts'
import type { Ledger } from '../runs/ledger.ts'
import type { Database } from '../storage/database.ts'
import { systemClock } from '../platform/system-clock.ts'
import { createFireChange } from '../triggers/watch/fire-change.ts'
import { createScanThread } from '../triggers/watch/scan-thread.ts'
import { createShowWatches } from '../triggers/watch/show-watches.ts'
import type { WatchRule } from '../triggers/watch/watch-rule.ts'
import { createWatchTable } from '../triggers/watch/watch-table.ts'
import { createWatchersFile } from '../triggers/watch/watchers-file.ts'
import { createWatches } from '../triggers/watch/watches.ts'

/** File watchers, from the file to the ledger. */
export function composeWatch(parts: {
  readonly database: Database
  readonly paths: DataPaths
  readonly ledger: Ledger
  readonly pausedReason: (agentId: string) => string | null
  readonly guard: Guard
  readonly events: EventBus
  readonly log: Log
}) {
  const { database, paths, ledger } = parts
  const thread = createScanThread({ clock: systemClock, log: parts.log })
  const { scanFolder } = thread
  const shared = { ...parts, clock: systemClock, scanFolder, table: createWatchTable(database) }
  const file = createWatchersFile(paths.watchersFile)
  const fire = createFireChange({ ...shared, submitRun: ledger.submitRun, pausedReason: parts.pausedReason })
  const watches = createWatches({ ...shared, file, fire })
  const show = createShowWatches({
    ...shared,
    path: paths.watchersFile,
    file,
    watches,
    findRun: ledger.find,
  })
  const run = async (signal: AbortSignal): Promise<void> => {
    await watches.run(signal)
    await thread.close()
  }
  return { run, show }
}

export type WatchRoom = ReturnType<typeof composeWatch>

/** The watchers in the words of the people's door. */
export function watchUseCases({ show }: WatchRoom): WatchUseCases {
  return {
    list: (caller) => {
      const { broken, watches, polls } = show.list(caller)
      return {
        broken,
        watchers: watches.map((watch) => ({
          id: watch.rule.id,
          ...ruleView(watch.rule),
          files: watch.hasLooked ? watch.seen.size : null,
          waiting: watch.waiting,
          fired: watch.fired,
          passed_over: watch.passedOver,
          trouble: watch.trouble,
          held: watch.held,
          looked_at: watch.lookedAt,
          look_ms: watch.lookMs,
        })),
        polls: { done: polls.done, skipped: polls.skipped, longest_ms: polls.longestMs },
      }
    },
    check: async (caller) => {
      const { broken, watches } = await show.check(caller)
      return {
        broken,
        watchers: watches.map(({ rule, files, names, trouble }) => ({
          ...ruleView(rule),
          files,
          names: [...names],
          trouble,
        })),
      }
    },
    history: (caller, limit) => ({
      fired: show.history(caller, limit).map(({ fired, run }) => ({
        watch: fired.watch,
        agent_id: fired.agentId,
        filepath: fired.filepath,
        change: fired.change,
        size_bytes: fired.sizeBytes,
        fired_at: fired.firedAt,
        run_id: fired.runId,
        state: run?.state ?? null,
        outcome: run?.outcome?.text ?? null,
      })),
    }),
  }
}

function ruleView({ path, pattern, agent, message, whenText, line }: WatchRule) {
  return { path, pattern, agent, message, when: whenText, line }
}
