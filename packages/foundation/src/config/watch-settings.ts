import { dirname } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { createInTurn } from '@flotilla/protocol/turns'
import { applyEdits, modify } from 'jsonc-parser'
import { sameStamp, stampOf } from './atomic-file.ts'
import { createDeviceGuard } from './device-guard.ts'
import type { FileEditor, FileStamp } from './atomic-file.ts'
import { stripEnvironmentOnly } from './environment-only.ts'
import { parseSettings, readSettingsFile } from './settings-file.ts'
import type { Settings } from './settings-file.ts'

/** How often the settings file is checked for changes, in milliseconds. */
const pollIntervalMs = 1000

/** Undefined removes the field. */
export interface FieldEdit {
  readonly field: readonly string[]
  readonly value: unknown
}

export interface SettingsFile {
  /** The settings of the last valid file. */
  current(): Settings
  /** Why the current file is not used, with file and line; null while the file is used. */
  broken(): string | null
  /**
   * Sets one field, or deletes it if `value` is undefined, and leaves the rest of the text unchanged. Resolves when
   * the edit is in effect. Problem `unprocessable` if the file is invalid or would become invalid.
   */
  edit(field: readonly string[], value: unknown): Promise<void>
  /** Like `edit`, for all edits that `choose` returns for the current settings, in one write or none. */
  editAll(choose: (settings: Settings) => readonly FieldEdit[]): Promise<void>
  close(): Promise<void>
}

/**
 * Reads `config/settings.json` again after each edit by hand. At start an invalid file is rejected with its line;
 * later the last valid settings stay in effect. Secrets that belong only into the environment are removed from the
 * file.
 */
export async function watchSettings(deps: {
  readonly path: string
  readonly clock: Clock
  readonly onBroken: (detail: string) => void
  readonly editor: FileEditor
  /** Called with the names that were removed from the file because they belong only into the environment. */
  readonly onStripped: (names: readonly string[]) => void
}): Promise<SettingsFile> {
  const stopping = new AbortController()
  const requireDevice = createDeviceGuard(dirname(deps.path))
  await strip()
  /** Undefined after a failed check: the next check reads the file even if it did not change. */
  let stamp: FileStamp | null | undefined = await stampOf(deps.path)
  let settings = await readSettingsFile(deps.path)
  let broken: string | null = null

  async function strip(): Promise<void> {
    try {
      const names = await stripEnvironmentOnly(deps.editor, deps.path)
      if (names.length > 0) deps.onStripped(names)
    } catch (error) {
      // The mesh ignores secrets in the file, but the owner must know that the file still contains them.
      const why = error instanceof Error ? error.message : String(error)
      deps.onBroken(
        `config/settings.json contains secrets, and the mesh failed to move them out of the file: ${why}`,
      )
    }
  }

  // In turn: an edit that met a read of the same change would else resolve before the settings are in effect.
  const inTurn = createInTurn()
  const readIfChanged = () => inTurn(readNow)

  async function readNow(): Promise<void> {
    try {
      await requireDevice()
      const found = await stampOf(deps.path)
      if (stamp !== undefined && sameStamp(found, stamp)) return
      stamp = found
      await strip()
      settings = await readSettingsFile(deps.path)
      broken = null
    } catch (error) {
      // An invalid text stays invalid until it is rewritten; a failing disk may recover at any time.
      if (!(error instanceof Problem)) stamp = undefined
      const detail = error instanceof Error ? error.message : String(error)
      // An unreadable file gives the same error at each read, so it is reported once.
      if (detail !== broken) deps.onBroken(detail)
      broken = detail
    }
  }

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      await deps.clock.sleep(pollIntervalMs, stopping.signal).catch(() => {})
      if (!stopping.signal.aborted) await readIfChanged()
    }
  }

  async function editAll(choose: (settings: Settings) => readonly FieldEdit[]): Promise<void> {
    await deps.editor.edit(deps.path, (text) => {
      const before = text ?? '{}\n'
      const edits = choose(parseSettings(before))
      if (edits.length === 0) return null
      const after = edits.reduce((now, { field, value }) => {
        const formattingOptions = { insertSpaces: true, tabSize: 2 }
        return applyEdits(now, modify(now, [...field], value, { formattingOptions }))
      }, before)
      parseSettings(after)
      return after
    })
    await readIfChanged()
  }

  const polling = poll()
  return {
    current: () => settings,
    broken: () => broken,
    edit: (field, value) => editAll(() => [{ field, value }]),
    editAll,
    async close() {
      stopping.abort()
      await polling
    },
  }
}
