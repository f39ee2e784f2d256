import { readTextFile, sameStamp, stampOf } from '../../config/index.ts'
import type { FileStamp } from '../../config/index.ts'
import { readWatchers } from './read-watchers.ts'
import type { WatchersReading } from './read-watchers.ts'
import type { WatchRule } from './watch-rule.ts'

const fileName = 'config/watchers.yaml'

/** `config/watchers.yaml`, read again when a hand changed it. The last whole one goes on while it is broken. */
export interface WatchersFile {
  /** Reads the file if it is another than before. True when other rules hold now. */
  refresh(): Promise<boolean>
  rules(): readonly WatchRule[]
  /** With file and line, why the file as it stands is not used; null while it is. */
  broken(): string | null
}

export function createWatchersFile(path: string): WatchersFile {
  let stamp: FileStamp | null | undefined
  let rules: readonly WatchRule[] = []
  let broken: string | null = null

  return {
    refresh: async () => {
      try {
        // The stamp is taken first: a write between the two is then seen by the next poll.
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

/** The file as it stands. Rejects where it cannot be read; a missing one has no rules. */
export async function readWatchersFile(path: string): Promise<WatchersReading> {
  return readWatchers((await readTextFile(path)) ?? '')
}

export function brokenWords({ line, reason }: Extract<WatchersReading, { ok: false }>): string {
  return `${fileName} line ${line}: ${reason}`
}
