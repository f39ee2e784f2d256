import type { Stats } from 'node:fs'
import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { DataPaths } from '@flotilla/foundation/config'
import { failure, ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Checks that private files are readable only by the owner. */
export async function fileFindings(paths: DataPaths): Promise<readonly DoctorFinding[]> {
  return [
    await modeFinding('home-private', paths.home, 0o700),
    await modeFinding('env-file-private', paths.envFile, 0o600),
    await modeFinding('database-private', paths.dataFolder, 0o700),
  ]
}

/** Kernel file systems that cannot contain our folders, by their `statfs` type: proc and sysfs. */
const kernelFileSystems = new Set([0x9f_a0, 0x62_65_65_72])

/** Checks that the home exists or could be created, using the nearest existing folder above it. Changes nothing. */
export async function homeFinding({ home }: Pick<DataPaths, 'home'>): Promise<DoctorFinding> {
  const unusable = (why: string) =>
    failure('home-usable', `${home} cannot be the home: ${why}`, problemCatalog['home-unusable'].repair)
  const { folder, found } = await nearestAbove(home)
  if (!found.isDirectory()) return unusable(`${folder} is not a folder`)
  const { type } = await statfs(folder)
  if (kernelFileSystems.has(type))
    return unusable(`${folder} belongs to the kernel, so no folder can be created in it`)
  const mayWrite = await access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!mayWrite) return unusable(`this user may not write to ${folder}`)
  return ok('home-usable', folder === home ? `${home} can be written to` : `${home} can be created`)
}

async function nearestAbove(path: string): Promise<{ folder: string; found: Stats }> {
  for (let folder = path; ; folder = dirname(folder)) {
    const found = await stat(folder).catch(() => null)
    if (found !== null) return { folder, found }
  }
}

async function modeFinding(id: string, path: string, allowedMode: number): Promise<DoctorFinding> {
  const found = await stat(path).catch(() => null)
  if (!found) return ok(id, `${path} does not exist yet`)
  const mode = found.mode & 0o777
  if ((mode & ~allowedMode) === 0) return ok(id, `${path} has mode ${mode.toString(8)}`)
  return failure(
    id,
    `${path} has mode ${mode.toString(8)}: others on this machine can read it`,
    `chmod ${allowedMode.toString(8)} ${path}`,
  )
}

/** Below this many free bytes, work of several days could be lost. */
const freeMinBytes = 2 * 1024 ** 3

export function diskFinding(free: { readonly bytes: number; readonly path: string }): DoctorFinding {
  const gigabytes = (free.bytes / 1024 ** 3).toFixed(1)
  const detail = `${gigabytes} GB free where ${free.path} is`
  return free.bytes >= freeMinBytes
    ? ok('disk-space', detail)
    : warning(
        'disk-space',
        detail,
        'Free space on this disk, or move the home to another disk (flotilla backup, flotilla restore).',
      )
}
