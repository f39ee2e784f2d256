import { existsSync } from 'node:fs'
import { writeFileAtomically } from '../config/index.ts'
import type { DataPaths } from '../config/index.ts'

/** A new home gets a file that allows nothing; where there was a fleet, a missing file is the owner's to explain. */
export async function writeFirstPermissions(paths: DataPaths): Promise<void> {
  if (existsSync(paths.permissionsFile) || existsSync(paths.database)) return
  await writeFileAtomically(paths.permissionsFile, '{\n  "permissions": {}\n}\n')
}
