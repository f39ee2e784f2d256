import { existsSync } from 'node:fs'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { writeFileAtomically } from '../config/atomic-file.ts'
import type { DataPaths } from '../config/data-paths.ts'
import type { PermissionGrants } from '../agents/registry/create-agent.ts'
import { operatorDefaultRecord, workerDefaultRecord } from '../access/default-records.ts'
import { operatorMayChange } from '../access/operator-ceiling.ts'
import type { PermissionStore } from '../access/permission-file.ts'

/** A new home gets a file that allows nothing; where there was a fleet, a missing file is the owner's to explain. */
export async function writeFirstPermissions(paths: DataPaths): Promise<void> {
  if (existsSync(paths.permissionsFile) || existsSync(paths.database)) return
  await writeFileAtomically(paths.permissionsFile, '{\n  "permissions": {}\n}\n')
}

/** Permission records as the fleet asks for them. */
export function grantsIn(permissions: PermissionStore): PermissionGrants {
  return {
    grantDefaults: (agentId, kind, overrides) =>
      permissions.edit((records) => ({
        ...records,
        [agentId]: permissionRecordSchema.parse({
          ...(kind === 'operator' ? operatorDefaultRecord : workerDefaultRecord),
          ...overrides,
        }),
      })),
    revokeAll: (agentId) =>
      permissions.edit((records) =>
        Object.fromEntries(Object.entries(records).filter(([id]) => id !== agentId)),
      ),
    aboveOperatorCeiling: (overrides) => {
      const verdict = operatorMayChange(workerDefaultRecord, overrides)
      return verdict.allowed ? null : `${verdict.field.slice(0, 60)}: ${verdict.reason}`
    },
  }
}
