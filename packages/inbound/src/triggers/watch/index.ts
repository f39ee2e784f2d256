import type { MeshModule } from '@flotilla/identity/kernel'
import { reasonToPause } from '@flotilla/work/events'
import type { Agents } from '@flotilla/fleet/agents'
import type { Runs } from '@flotilla/work/runs'
import type { FileEditor } from '@flotilla/foundation/config'
import { createChangeWatcher } from './change-watcher.ts'
import { createFileWatches } from './carry-watchers.ts'
import type { FileWatches } from './carry-watchers.ts'
import { createFireChange } from './fire-change.ts'
import { watchPeopleRoutes } from './people.routes.ts'
import { createScanThread } from './scan-thread.ts'
import { createShowWatches } from './show-watches.ts'
import { createWatchTable } from './watch-table.ts'
import { createWatchersFile } from './watchers-file.ts'
import { createWatches } from './watches.ts'
import type { WorkKernel } from '@flotilla/work/events'

export { brokenWords, readWatchersFile } from './watchers-file.ts'

export { watchName, watcherEntrySchema, watchesMax } from './watch-rule.ts'
export type { WatcherEntry } from './watch-rule.ts'
export { watchersEditSchema } from './carry-watchers.ts'
export type { FileWatches, WatchersEdit } from './carry-watchers.ts'
export type { WatcherChange } from './edit-watchers.ts'

/** File watchers, from `config/watchers.yaml` to the run. */
export function watchModule(
  kernel: WorkKernel,
  needs: {
    /** The path of `config/watchers.yaml`. */
    readonly path: string
    readonly editor: FileEditor
    readonly agents: Pick<Agents, 'registry'>
    readonly runs: Pick<Runs, 'queue' | 'queries'>
  },
): MeshModule<FileWatches> {
  const { path, editor, agents, runs } = needs
  const thread = createScanThread(kernel)
  const { scanFolder } = thread
  const table = createWatchTable(kernel.database)
  const file = createWatchersFile(path)
  const fire = createFireChange({
    ...kernel,
    table,
    submitRun: runs.queue.submitRun,
    pausedReason: (agentId) => reasonToPause(kernel.workEvents, agentId),
  })
  const watches = createWatches({ ...kernel, file, table, scanFolder, fire })
  const show = createShowWatches({
    path,
    file,
    watches,
    table,
    scanFolder,
    guard: kernel.guard,
    findRun: runs.queries.find,
  })
  const files = createFileWatches({ path, editor, scanFolder })
  const change = createChangeWatcher({
    kernel,
    files,
    requireWorking: (agentId) => agents.registry.requireWorking(agentId),
    refresh: watches.refresh,
  })
  return {
    api: files,
    routes: { people: (surface) => watchPeopleRoutes(surface, { show, change }) },
    run: async (signal) => {
      await watches.run(signal)
      await thread.close()
    },
  }
}
