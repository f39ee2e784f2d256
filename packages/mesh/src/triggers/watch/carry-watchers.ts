import { rm } from 'node:fs/promises'
import * as z from 'zod'
import type { FileEditor } from '../../config/index.ts'
import { readTextFile } from '../../config/index.ts'
import { changedMeanwhile, editWatchers, watcherChangeSchema } from './edit-watchers.ts'
import type { WatcherChange } from './edit-watchers.ts'
import type { ScanFolder } from './scan-folder.ts'
import { entryOf } from './watch-rule.ts'
import type { WatcherEntry } from './watch-rule.ts'
import { createWatchersFile } from './watchers-file.ts'

/** How long folders are looked for, all of them together, milliseconds. */
const foldersCheckMaxMs = 10_000

/** `config/watchers.yaml` before and after an edit; null before where there was no file. */
export const watchersEditSchema = z.strictObject({
  before: z.nullable(z.string()),
  after: z.string(),
  changes: z.array(watcherChangeSchema),
})
export type WatchersEdit = z.output<typeof watchersEditSchema>

/**
 * The entries of `config/watchers.yaml` for whoever carries them elsewhere. Nobody is asked here who they are: whoever
 * calls has decided that.
 */
export interface FileWatches {
  /** Reads the file where a hand changed it. Never rejects. */
  refresh(): Promise<void>
  /** Of the last whole file that was read. */
  entries(): readonly WatcherEntry[]
  /** With file and line, why the file as it stands is not used; null while it is. */
  broken(): string | null
  /** What a write would do; null for nothing. Problems `conflict`, `unprocessable`. */
  prepare(changes: readonly WatcherChange[]): Promise<WatchersEdit | null>
  /** Problem `conflict` where the file is not any more as it was. */
  write(edit: WatchersEdit): Promise<void>
  /** Puts back what the edit wrote, wherever the file still says it. Idempotent. Problem `unprocessable`. */
  takeBack(edit: WatchersEdit): Promise<void>
  /** Why each of these folders cannot be looked into on this machine, by path. Those that can are not in it. */
  troubles(paths: readonly string[]): Promise<ReadonlyMap<string, string>>
}

export function createFileWatches(deps: {
  readonly path: string
  readonly editor: FileEditor
  readonly scanFolder: ScanFolder
}): FileWatches {
  const { path, editor } = deps
  // A reader of its own: the watches at work must hear of each change themselves.
  const file = createWatchersFile(path)
  const refresh = async () => void (await file.refresh())

  async function troubleOf(folder: string, signal: AbortSignal): Promise<string | null> {
    try {
      const end = await deps.scanFolder(folder, { pattern: '*', each: () => false, signal })
      if (end.kind === 'whole') return null
      return end.kind === 'missing'
        ? `there is no folder ${folder} on this machine; the watcher waits for it`
        : `the folder ${folder} cannot be looked into: ${end.reason}`
    } catch (error) {
      if (!signal.aborted) throw error
      return `the folder ${folder} has not answered within ${foldersCheckMaxMs / 1000} s`
    }
  }

  return {
    refresh,
    entries: () => file.rules().map((rule) => entryOf(rule)),
    broken: file.broken,
    async prepare(changes) {
      const before = await readTextFile(path)
      const after = editWatchers(before, changes, { skipMissing: false })
      return after === null ? null : { before, after, changes: [...changes] }
    },
    async write(edit) {
      await editor.edit(path, (now) => {
        if (now !== edit.before) throw changedMeanwhile()
        return edit.after
      })
      await refresh()
    },
    async takeBack({ before, after, changes }) {
      await editor.edit(path, async (now) => {
        if (now === before) return null
        if (now === after) {
          if (before === null) await rm(path, { force: true })
          return before
        }
        // A hand came in between: what it wrote stays, and what is still as it was written here goes.
        const back = changes.map((change) => ({ before: change.after, after: change.before }))
        return editWatchers(now, back.toReversed(), { skipMissing: true })
      })
      await refresh()
    },
    async troubles(paths) {
      const signal = AbortSignal.timeout(foldersCheckMaxMs)
      const found = new Map<string, string>()
      for (const folder of new Set(paths)) {
        const trouble = await troubleOf(folder, signal)
        if (trouble !== null) found.set(folder, trouble)
      }
      return found
    },
  }
}
