import { existsSync } from 'node:fs'
import { writeFileAtomically } from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'

/**
 * Writes a file that permits nothing for a new home. In an existing home a missing file needs the owner's
 * explanation.
 */
export async function writeFirstPermissions(paths: DataPaths): Promise<void> {
  if (existsSync(paths.permissionsFile) || existsSync(paths.database)) return
  await writeFileAtomically(paths.permissionsFile, '{\n  "permissions": {}\n}\n')
}
