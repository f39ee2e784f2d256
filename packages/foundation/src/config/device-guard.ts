import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isMissing } from './atomic-file.ts'

/**
 * Remembers on which file system a folder is, and returns a check that rejects (`ENODEV`) when it is on another one: a
 * file system was mounted over it, or its own was unmounted. Files that are missing there were not deleted by their owner.
 */
export function createDeviceGuard(folder: string): () => Promise<void> {
  const device = deviceNow(folder)
  return async () => {
    if (device === null || (await deviceOf(folder)) === device) return
    throw Object.assign(new Error(awayWords(folder)), { code: 'ENODEV' })
  }
}

/** The sentence about a folder whose file system is not the one that the mesh began on. Pure. */
export function awayWords(folder: string): string {
  return `another file system is where ${folder} was when the mesh started; mount the old one there again, or stop the mesh`
}

/** The device of the folder, or of the nearest folder above that exists. */
async function deviceOf(folder: string): Promise<number> {
  try {
    return (await stat(folder)).dev
  } catch (error) {
    const above = dirname(folder)
    if (!isMissing(error) || above === folder) throw error
    return deviceOf(above)
  }
}

/** Null if it cannot be read. */
function deviceNow(folder: string): number | null {
  try {
    return statSync(folder).dev
  } catch (error) {
    const above = dirname(folder)
    return isMissing(error) && above !== folder ? deviceNow(above) : null
  }
}
