import { readFile } from 'node:fs/promises'
import { isMissing } from '@flotilla/foundation/config'

/** Error codes of a read from `/proc` if the process has ended or belongs to another user. */
const unreadable: readonly unknown[] = ['ESRCH', 'EACCES', 'EPERM']

/**
 * Reads a file of `/proc`; null if its process has ended or belongs to another user. Rejects with every other error,
 * because a failed read, as at the limit of open files, does not prove that a process has ended.
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
