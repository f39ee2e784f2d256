import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { volumePrograms } from './volume-support.ts'

/** Folders that are searched in addition to PATH, as in a root login. */
const administratorPaths = ['/usr/sbin', '/sbin', '/usr/bin', '/bin']

/** Returns the paths of the needed programs, by name; programs that are missing are left out. */
export async function findVolumePrograms(path: string): Promise<ReadonlyMap<string, string>> {
  const folders = [...new Set([...path.split(delimiter), ...administratorPaths])].filter((one) => one !== '')
  const found = new Map<string, string>()
  for (const name of volumePrograms) {
    for (const folder of folders) {
      const file = join(folder, name)
      if (found.has(name) || !(await may(file, constants.X_OK))) continue
      found.set(name, file)
    }
  }
  return found
}

export function hasLoopDevices(): Promise<boolean> {
  return may('/dev/loop-control', constants.R_OK | constants.W_OK)
}

function may(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}
