import { rm } from 'node:fs/promises'
import { runCommand } from '../run-command.ts'
import { SandboxError } from '../sandbox-error.ts'

/** Long enough for millions of files on a slow disk. */
const removeMaxMs = 10 * 60_000
/** Node removes by whole paths, which fail for a deep tree, and does not change the mode of folders. */
const codesForPrograms: ReadonlySet<unknown> = new Set(['ENAMETOOLONG', 'EACCES', 'EPERM', 'ENOTEMPTY'])

/**
 * Removes a folder that an agent wrote to; a missing one is no error. The agent may have made paths longer than the
 * system takes, and folders that their owner cannot read.
 */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && codesForPrograms.has(error.code))) throw error
    await removeByPrograms(folder)
  }
}

/** These programs walk with open folders instead of whole paths, and follow no symbolic links on the way. */
async function removeByPrograms(folder: string): Promise<void> {
  const options = { timeoutMs: removeMaxMs }
  await runCommand('chmod', ['-R', 'u+rwX', '--', folder], options)
  const { code, stderr } = await runCommand('rm', ['-rf', '--', folder], options)
  if (code === 0) return
  throw new SandboxError(
    'data-unremoved',
    `Failed to remove ${folder}: ${stderr.slice(-400)}\nRepair: remove it in a terminal.`,
  )
}
