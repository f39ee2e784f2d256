import { dirname } from 'node:path'
import { createDeviceGuard, readTextFile, sameStamp, stampOf } from '@flotilla/foundation/config'
import type { FileStamp } from '@flotilla/foundation/config'
import { readWatchers } from './read-watchers.ts'
import type { WatchersReading } from './read-watchers.ts'
import type { WatchRule } from './watch-rule.ts'

const fileName = 'config/watchers.yaml'

/**
 * Reads `config/watchers.yaml` again when the file was changed by hand. While the file is broken,
 * its last valid version stays in force.
 */
export interface WatchersFile {
  /** Reads the file if it has changed. True if the rules changed. */
  refresh(): Promise<boolean>
  rules(): readonly WatchRule[]
  /** Returns why the file is not used, with line and reason; null if the file is valid. */
  broken(): string | null
}

export function createWatchersFile(path: string): WatchersFile {
  let stamp: FileStamp | null | undefined
  let rules: readonly WatchRule[] = []
  let broken: string | null = null
  const requireDevice = createDeviceGuard(dirname(path))

  return {
    refresh: async () => {
      try {
        await requireDevice()
        // The stamp is read before the file, so that the next poll detects a write in between.
        const found = await stampOf(path)
        if (stamp !== undefined && sameStamp(found, stamp)) return false
        const reading = await readWatchersFile(path)
        stamp = found
        if (!reading.ok) {
          broken = brokenWords(reading)
          return false
        }
        broken = null
        rules = reading.rules
        return true
      } catch (error) {
        broken = `${fileName} cannot be read: ${error instanceof Error ? error.message : String(error)}`
        return false
      }
    },
    rules: () => rules,
    broken: () => broken,
  }
}

/** Returns the rules of the current file. Rejects if the file cannot be read; a missing file has no rules. */
export async function readWatchersFile(path: string): Promise<WatchersReading> {
  return readWatchers((await readTextFile(path)) ?? '')
}

export function brokenWords({ line, reason }: Extract<WatchersReading, { ok: false }>): string {
  return `${fileName} line ${line}: ${reason}`
}
