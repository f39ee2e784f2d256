import { cp } from 'node:fs/promises'
import { join } from 'node:path'

/** Folder of the chaos reports; ignored by git. */
export const reportFolder = join(import.meta.dirname, '..', '..', 'reports', 'chaos')

/** Copies a home that is about to be removed, and returns the path of the copy. */
export async function keepHome(home: string, seed: number): Promise<string> {
  const path = join(reportFolder, `home-${seed}-${Date.now()}`)
  await cp(home, path, { recursive: true, verbatimSymlinks: true })
  return path
}
