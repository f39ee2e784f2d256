import { promises, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { stateFolder } from '../door-token.ts'
import { readJsonFile, removeFile } from '../files/atomic-file.ts'
import { forgetOldest } from '../files/forget-oldest.ts'
import { writeState } from '../files/state-file.ts'
import type { LoopState } from './loop-state.ts'

/** Unfinished runs that are remembered; an older one starts afresh when it is sent again. */
const checkpointsMax = 20

/** One file per unfinished run, so that a run which another overtook still goes on where it was. */
export interface Checkpoints {
  /** Stored when the promise resolves, also against a power cut. */
  save(state: LoopState): Promise<void>
  /** Null when there is none, or none of our form. */
  load(runId: string): Promise<LoopState | null>
  remove(runId: string): Promise<void>
  any(): Promise<boolean>
}

export function createCheckpoints(dataDirectory: string): Checkpoints {
  const folder = join(dataDirectory, stateFolder, 'checkpoints')
  const fileOf = (runId: string): string => join(folder, `${runId}.json`)
  const names = async (): Promise<string[]> =>
    (await promises.readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json'))
  const known = new Set<string>()

  return {
    save: async (state) => {
      if (!known.has(state.runId)) {
        known.add(state.runId)
        await forgetOldest(folder, await names(), checkpointsMax - 1)
      }
      await writeState(dataDirectory, fileOf(state.runId), JSON.stringify(state))
    },
    load: async (runId) => {
      const value = await readJsonFile(fileOf(runId))
      if (value === null || value === undefined) return null
      const { readLoopState } = await import('./read-loop-state.ts')
      const state = readLoopState(value)
      return state?.runId === runId ? state : null
    },
    remove: async (runId) => {
      known.delete(runId)
      await removeFile(fileOf(runId))
    },
    any: async () => folderHasEntries(folder),
  }
}

/** Read at once: the promises of the file system would cost the first status request a millisecond. */
function folderHasEntries(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0
  } catch {
    return false
  }
}
