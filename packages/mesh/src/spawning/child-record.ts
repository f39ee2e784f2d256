import { controlPlaneFlags } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { withinParent, workerDefaultRecord } from '../access/index.ts'

/**
 * The record that a spawned agent is made with: a worker's defaults with what was asked for, within what its parent may.
 * What would outlive it, or act on others, it never has: jobs, the wallet, control of the fleet. Pure.
 */
export function childRecord(asked: {
  readonly parent: PermissionRecord
  readonly fields: Partial<PermissionRecord>
  readonly maySpawn: boolean
}): PermissionRecord {
  const wished: PermissionRecord = { ...workerDefaultRecord, ...asked.fields }
  const flags = Object.fromEntries(controlPlaneFlags.map((flag) => [flag, false]))
  return {
    ...withinParent(wished, asked.parent),
    ...flags,
    can_manage_cron: false,
    can_use_wallet: false,
    ...(asked.maySpawn ? {} : { can_spawn: false }),
  }
}
