import { rm } from 'node:fs/promises'
import * as z from 'zod'
import type { FileEditor } from '@flotilla/foundation/config'
import { readTextFile } from '@flotilla/foundation/config'
import { changedMeanwhile, editWatchers, watcherChangeSchema } from './edit-watchers.ts'
import type { WatcherChange } from './edit-watchers.ts'
import type { ScanFolder } from './scan-folder.ts'
import { entryOf } from './watch-rule.ts'
import type { WatcherEntry } from './watch-rule.ts'
import { createWatchersFile } from './watchers-file.ts'

/** The time limit for checking all folders, in milliseconds. */
const foldersCheckMaxMs = 10_000

/** `config/watchers.yaml` before and after an edit; `before` is null if the file did not exist. */
export const watchersEditSchema = z.strictObject({
  before: z.nullable(z.string()),
  after: z.string(),
  changes: z.array(watcherChangeSchema),
})
export type WatchersEdit = z.output<typeof watchersEditSchema>

/**
 * The entries of `config/watchers.yaml` for callers that export or apply them. The caller must have
 * checked permissions, because this interface does not check any.
 */
export interface FileWatches {
  /** Reads the file if it was changed by hand. Never rejects. */
  refresh(): Promise<void>
  /** Returns the entries of the last valid file. */
  entries(): readonly WatcherEntry[]
  /** Returns why the file is not used, with line and reason; null if the file is valid. */
  broken(): string | null
  /**
   * Returns the edit that a write would make; null for no change. Throws the Problems `conflict` and `unprocessable`.
   */
  prepare(changes: readonly WatcherChange[]): Promise<WatchersEdit | null>
  /** Writes a prepared edit. Throws Problem `conflict` if the file has changed since `prepare`. */
  write(edit: WatchersEdit): Promise<void>
  /** Reverts the edit where the file still contains it. Idempotent. Throws Problem `unprocessable`. */
  takeBack(edit: WatchersEdit): Promise<void>
  /** Returns why folders cannot be read on this machine, by path. Readable folders are left out. */
  troubles(paths: readonly string[]): Promise<ReadonlyMap<string, string>>
}

export function createFileWatches(deps: {
  readonly path: string
  readonly editor: FileEditor
  readonly scanFolder: ScanFolder
}): FileWatches {
  const { path, editor } = deps
  // Uses a separate reader of the file, so that the active watches notice each change of the file themselves.
  const file = createWatchersFile(path)
  const refresh = async () => void (await file.refresh())

  async function troubleOf(folder: string, signal: AbortSignal): Promise<string | null> {
    try {
      const end = await deps.scanFolder(folder, { pattern: '*', each: () => false, signal })
      if (end.kind === 'whole') return null
      return end.kind === 'missing'
        ? `there is no folder ${folder} on this machine; the watcher waits for it`
        : `the folder ${folder} cannot be read: ${end.reason}`
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
        // The file was edited by hand after this edit. Those changes stay; entries of this edit that are unchanged
        // since then are reverted.
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
