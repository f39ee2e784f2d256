import { existsSync } from 'node:fs'
import { writeFileAtomically } from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'

/**
 * Writes a permission file that allows nothing, for a new home only. If the file of an existing home is missing,
 * agents are denied everything until the owner restores the file.
 */
export async function writeFirstPermissions(paths: DataPaths): Promise<void> {
  if (existsSync(paths.permissionsFile) || existsSync(paths.database)) return
  await writeFileAtomically(paths.permissionsFile, '{\n  "permissions": {}\n}\n')
}
