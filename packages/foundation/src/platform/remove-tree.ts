import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'

/** The time limit for deleting a folder, in milliseconds: long enough for millions of files on a slow disk. */
const removeMaxMs = 10 * 60_000
/** Errors of Node's `rm` after which programs remove the tree: Node fails for long paths and changes no modes. */
const codesForPrograms: ReadonlySet<unknown> = new Set(['ENAMETOOLONG', 'EACCES', 'EPERM', 'ENOTEMPTY'])
/** How much of the reason for a failed deletion is quoted, in characters. */
const reasonMaxChars = 400

/**
 * Removes a file, or a folder that an agent may have written to; a missing one is no error. The agent may have made
 * paths longer than the system takes, and folders that their owner cannot read.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && codesForPrograms.has(error.code))) throw error
    await removeByPrograms(path)
  }
}

/** Runs `chmod` and `rm`, which open folder by folder instead of whole paths and follow no symbolic links. */
async function removeByPrograms(path: string): Promise<void> {
  const run = promisify(execFile)
  const options = { timeout: removeMaxMs }
  // A failure, such as for a file of another user, matters only if the removal fails too.
  await run('chmod', ['-R', 'u+rwX', '--', path], options).catch(() => {})
  try {
    await run('rm', ['-rf', '--', path], options)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.slice(-reasonMaxChars) : ''
    throw new Error(`failed to remove ${path}: ${reason}\nRepair: remove it in a terminal.`, { cause })
  }
}
