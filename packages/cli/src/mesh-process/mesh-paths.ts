import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The program of the mesh. The command line starts it and never imports it. */
export const meshMain = join(
  dirname(fileURLToPath(import.meta.url)),
  '..',
  '..',
  '..',
  'mesh',
  'src',
  'main.ts',
)

/**
 * Before the program: without it, a signal that any program of this user may send opens an inspector in the process
 * that holds every key.
 */
export const guardedNode = ['--disable-sigusr1'] as const

export const repositoryRoot = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..')

export function meshFilePath(home: string): string {
  return join(home, 'data', 'mesh.json')
}

/** Log of a mesh that was started by this command line; owner only. */
export function meshLogPath(home: string): string {
  return join(home, 'data', 'mesh.log')
}
