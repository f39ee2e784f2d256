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

export const repositoryRoot = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..')

export function meshFilePath(home: string): string {
  return join(home, 'data', 'mesh.json')
}

/** Log of a mesh that was started by this command line; owner only. */
export function meshLogPath(home: string): string {
  return join(home, 'data', 'mesh.log')
}
