import { stat } from 'node:fs/promises'
import type { DataPaths } from '../../config/index.ts'
import { failure, ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Whether what must be the owner's alone is. */
export async function fileFindings(paths: DataPaths): Promise<readonly DoctorFinding[]> {
  return [
    await modeFinding('home-private', paths.home, 0o700),
    await modeFinding('env-file-private', paths.envFile, 0o600),
    await modeFinding('database-private', paths.dataFolder, 0o700),
  ]
}

async function modeFinding(id: string, path: string, wanted: number): Promise<DoctorFinding> {
  const found = await stat(path).catch(() => null)
  if (!found) return ok(id, `${path} does not exist yet`)
  const mode = found.mode & 0o777
  if ((mode & ~wanted) === 0) return ok(id, `${path} has mode ${mode.toString(8)}`)
  return failure(
    id,
    `${path} has mode ${mode.toString(8)}: others on this machine can read it`,
    `chmod ${wanted.toString(8)} ${path}`,
  )
}

/** Below this many free bytes work of days is at risk. */
const freeMinBytes = 2 * 1024 ** 3

export function diskFinding(free: { readonly bytes: number; readonly path: string }): DoctorFinding {
  const gigabytes = (free.bytes / 1024 ** 3).toFixed(1)
  const detail = `${gigabytes} GB free where ${free.path} is`
  return free.bytes >= freeMinBytes
    ? ok('disk-space', detail)
    : warning('disk-space', detail, 'Free some space, or move the home.')
}
