import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isMissing } from './atomic-file.ts'

/**
 * Remembers the file system of a folder, and returns a check. The check rejects (`ENODEV`) if another file system is
 * at the folder now, after a mount or an unmount. Files that are missing then were not deleted by their owner.
 */
export function createDeviceGuard(folder: string): () => Promise<void> {
  const device = deviceNow(folder)
  return async () => {
    if (device === null || (await deviceOf(folder)) === device) return
    throw Object.assign(new Error(awayWords(folder)), { code: 'ENODEV' })
  }
}

/** Returns the error text for a folder on which another file system is mounted than at the mesh's start. Pure. */
export function awayWords(folder: string): string {
  return `another file system is where ${folder} was when the mesh started; mount the old one there again, or stop the mesh`
}

/** Returns the device number of the folder, or of its nearest existing ancestor. */
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
