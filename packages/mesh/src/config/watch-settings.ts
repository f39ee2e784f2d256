import type { Clock } from '@flotilla/protocol/clock'
import { sameStamp, stampOf } from './atomic-file.ts'
import { readSettingsFile } from './settings-file.ts'
import type { Settings } from './settings-file.ts'

const pollIntervalMs = 1000

export interface SettingsFile {
  /** What holds now: the file as it last was whole. */
  current(): Settings
  /** With file and line, why the file as it stands is not used; null while it is. */
  broken(): string | null
  close(): Promise<void>
}

/**
 * `config/settings.json`, read again when a hand changed it. At start a broken file is refused with its line;
 * later the last whole one goes on.
 */
export async function watchSettings(deps: {
  readonly path: string
  readonly clock: Clock
  readonly onBroken: (detail: string) => void
}): Promise<SettingsFile> {
  const stopping = new AbortController()
  let stamp = await stampOf(deps.path)
  let settings = await readSettingsFile(deps.path)
  let broken: string | null = null

  async function look(): Promise<void> {
    try {
      const found = await stampOf(deps.path)
      if (sameStamp(found, stamp)) return
      stamp = found
      settings = await readSettingsFile(deps.path)
      broken = null
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      // What cannot even be looked at is found so each time, and told once.
      if (detail !== broken) deps.onBroken(detail)
      broken = detail
    }
  }

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      await deps.clock.sleep(pollIntervalMs, stopping.signal).catch(() => {})
      if (!stopping.signal.aborted) await look()
    }
  }

  const polling = poll()
  return {
    current: () => settings,
    broken: () => broken,
    async close() {
      stopping.abort()
      await polling
    },
  }
}
