import { readFile } from 'node:fs/promises'
import { isMissing } from '@flotilla/foundation/config'

/** Codes for a process that has ended, or that belongs to another user. */
const unreadable: readonly unknown[] = ['ESRCH', 'EACCES', 'EPERM']

/**
 * A file of `/proc`; null if its process has ended or belongs to another user. Rejects with every other error: at the
 * limit of open files no process may be taken for one that has ended.
 */
export async function readProc(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const code: unknown = Reflect.get(Object(error), 'code')
    if (isMissing(error) || unreadable.includes(code)) return null
    throw error
  }
}
