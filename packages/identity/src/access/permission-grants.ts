import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { operatorDefaultRecord, workerDefaultRecord } from './default-records.ts'
import { operatorMayChange } from './operator-ceiling.ts'
import type { PermissionStore } from './permission-file.ts'

/** What a new agent gets. */
export interface FirstGrant {
  readonly kind: 'operator' | 'worker'
  readonly overrides: Partial<PermissionRecord>
  /** Who creates the agent, for the audit log. */
  readonly actor: string
}

/** Writes and deletes an agent's permission record when the agent is created or deleted. */
export interface PermissionGrants {
  /** Writes the default record of the kind, with `overrides` in the place of its own fields. */
  grantDefaults(agentId: string, grant: FirstGrant): void | Promise<void>
  /** Deletes the record; a missing one is no error. Recorded under the name of `actor`; without one, of the mesh. */
  revokeAll(agentId: string, actor?: string): void | Promise<void>
  /** Why the operator may not give these rights to a worker; null if it may. */
  aboveOperatorCeiling(overrides: Readonly<Record<string, unknown>>): string | null
}

export function createPermissionGrants(permissions: Pick<PermissionStore, 'edit'>): PermissionGrants {
  return {
    grantDefaults: (agentId, { kind, overrides, actor }) =>
      permissions.edit(
        (records) => ({
          ...records,
          [agentId]: permissionRecordSchema.parse({
            ...(kind === 'operator' ? operatorDefaultRecord : workerDefaultRecord),
            ...overrides,
          }),
        }),
        actor,
      ),
    revokeAll: (agentId, actor) =>
      permissions.edit(
        (records) => Object.fromEntries(Object.entries(records).filter(([id]) => id !== agentId)),
        actor,
      ),
    aboveOperatorCeiling: (overrides) => {
      const verdict = operatorMayChange(workerDefaultRecord, overrides)
      return verdict.allowed ? null : `${verdict.field.slice(0, 60)}: ${verdict.reason}`
    },
  }
}
