import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { permissionFileSchema, permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { BudgetEdit } from '../../packages/inference/src/spending/budget-scope.ts'
import { createBudgetTable } from '../../packages/inference/src/spending/budget-table.ts'
import { createSetBudget } from '../../packages/inference/src/spending/set-budget.ts'
import { createFileEditor } from '../../packages/foundation/src/config/atomic-file.ts'
import { aFleet } from '../../packages/testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../packages/testing/src/fleet-harness.ts'
import type { JournalEntry } from '../../packages/foundation/src/journal/journal.ts'
import { createRequireModel } from '../../packages/inference/src/models/catalog/require-model.ts'
import { silentLog } from '../../packages/foundation/src/platform/log.ts'
import type { Action } from '../../packages/identity/src/access/action.ts'
import { authorize } from '../../packages/identity/src/access/authorize.ts'
import type { Caller } from '../../packages/identity/src/access/caller.ts'
import {
  operatorDefaultRecord,
  workerDefaultRecord,
} from '../../packages/identity/src/access/default-records.ts'
import { createDenialCounts } from '../../packages/identity/src/access/denial-counts.ts'
import { createGuard } from '../../packages/identity/src/access/guard.ts'
import {
  createHoldCeiling,
  createRefuseAboveCeiling,
} from '../../packages/identity/src/access/hold-ceiling.ts'
import { createPermissionFile } from '../../packages/identity/src/access/permission-file.ts'
import type { PermissionStore } from '../../packages/identity/src/access/permission-file.ts'
import { createManualClock } from '../../packages/protocol/src/testing/manual-clock.ts'
import { createEdits } from '../../packages/operations/src/control/edits/edits.ts'
import type { Edits } from '../../packages/operations/src/control/edits/edits.ts'

/** Edits for tests: real rows, a real permissions file and real rules; texts are stored in memory. */

export const operator: Caller = { kind: 'agent', agentId: 'operator', token: 'door', run: null }
export const atTerminal: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
/** A model that this fleet has not set up. */
export const noModel = 'nobody/none'
export const inChat: Caller = { kind: 'human', role: 'owner', channel: 'telegram', user: 'owner' }

export interface EditsHarness {
  readonly edits: Edits
  readonly harness: FleetHarness
  readonly permissions: PermissionStore
  readonly permissionsPath: string
  readonly texts: Map<string, string>
  readonly journal: readonly JournalEntry[]
  readonly decide: (caller: Caller, action: Action) => boolean
  recordOf(agentId: string): Promise<PermissionRecord | undefined>
  /** Creates edits on the same rows, as after a restart. */
  again(): Edits
  close(): Promise<void>
}

export async function anEditsHarness(workers: readonly string[] = ['w']): Promise<EditsHarness> {
  const harness = await aFleet()
  const { database, clock, journal } = harness
  const permissionsPath = join(await mkdtemp(join(tmpdir(), 'edits-')), 'permissions.json')
  const permissions = await createPermissionFile({
    path: permissionsPath,
    editor: createFileEditor(),
    // Short pauses pass at once on the fleet's clock, and the file is checked between two of them.
    clock: createManualClock(),
    log: silentLog,
    onBroken: () => {},
  })
  await permissions.edit(() => ({
    operator: operatorDefaultRecord,
    ...Object.fromEntries(workers.map((id) => [id, permissionRecordSchema.parse(workerDefaultRecord)])),
  }))
  await harness.fleet.lifecycle.ensureOperator()
  for (const id of workers) await harness.fleet.admin.create(atTerminal, { id, role: 'works' })
  const texts = new Map<string, string>()
  const shared = { ...harness.deps, denials: createDenialCounts(clock), permissions }
  const guard = createGuard(shared)
  const setBudget = createSetBudget({
    ...shared,
    guard,
    refuseAbove: createRefuseAboveCeiling(shared),
    table: createBudgetTable(database),
    agents: harness.fleet.registry,
    makerOf: () => null,
    membershipChanged: () => {},
    rebalance: () => {},
  })
  const deps = {
    ...shared,
    guard,
    holdCeiling: createHoldCeiling(shared),
    requireModel: createRequireModel({
      catalog: {
        requireUsable: (model: string) => {
          if (model === noModel) throw new Problem('unprocessable')
        },
      },
      refuseAbove: createRefuseAboveCeiling(shared),
    }),
    setBudget: (caller: Caller, id: string, limits: BudgetEdit) =>
      void setBudget(caller, { scope: 'agent', id }, limits),
    fleet: {
      ...harness.fleet.registry,
      ...harness.fleet.admin,
      ...harness.fleet.briefing,
      reach: async (agentId: string) => ({
        readWorkspaceFile: async (name: string) => texts.get(`${agentId}/${name}`) ?? '',
        writeWorkspaceFile: async (name: string, content: string) =>
          void texts.set(`${agentId}/${name}`, content),
      }),
    },
  }
  return {
    edits: createEdits(deps),
    harness,
    permissions,
    permissionsPath,
    texts,
    journal,
    decide: (caller, action) => authorize(permissions.snapshot(), caller, action).allowed,
    recordOf: async (agentId) =>
      permissionFileSchema.parse(JSON.parse(await readFile(permissionsPath, 'utf8'))).permissions[agentId],
    again: () => createEdits({ ...deps, database }),
    close: async () => {
      await permissions.close()
      await harness.close()
    },
  }
}
