import type { Kernel, MeshModule } from '../../kernel/index.ts'
import { reasonToPause } from '../../kernel/index.ts'
import type { RunRecord, SubmitRun } from '../../runs/index.ts'
import { createFireChange } from './fire-change.ts'
import { watchPeopleRoutes } from './people.routes.ts'
import { createScanThread } from './scan-thread.ts'
import { createShowWatches } from './show-watches.ts'
import { createWatchTable } from './watch-table.ts'
import { createWatchersFile } from './watchers-file.ts'
import type { WatchersFile } from './watchers-file.ts'
import { createWatches } from './watches.ts'

export { brokenWords, readWatchersFile } from './watchers-file.ts'

export { watchName } from './watch-rule.ts'

/** The rules that hold at the moment. */
export type FileWatches = Pick<WatchersFile, 'rules'>

/** File watchers, from `config/watchers.yaml` to the run. */
export function watchModule(
  kernel: Kernel,
  needs: {
    /** Of `config/watchers.yaml`. */
    readonly path: string
    readonly runs: { readonly submitRun: SubmitRun; find(runId: string): RunRecord | null }
  },
): MeshModule<FileWatches> {
  const { path, runs } = needs
  const thread = createScanThread(kernel)
  const { scanFolder } = thread
  const table = createWatchTable(kernel.database)
  const file = createWatchersFile(path)
  const fire = createFireChange({
    ...kernel,
    table,
    submitRun: runs.submitRun,
    pausedReason: (agentId) => reasonToPause(kernel.hooks, agentId),
  })
  const watches = createWatches({ ...kernel, file, table, scanFolder, fire })
  const show = createShowWatches({
    path,
    file,
    watches,
    table,
    scanFolder,
    guard: kernel.guard,
    findRun: (runId) => runs.find(runId),
  })
  return {
    api: { rules: file.rules },
    routes: { people: (surface) => watchPeopleRoutes(surface, show) },
    run: async (signal) => {
      await watches.run(signal)
      await thread.close()
    },
  }
}
