import { packagesApprovalKind, sizeApprovalKind } from '@flotilla/protocol/resource-requests-api'
import type { Agents } from '@flotilla/fleet/agents'
import type { Resources } from '@flotilla/fleet/resources'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { WorkKernel } from '@flotilla/work/events'
import type { Runs } from '@flotilla/work/runs'
import { requestAgentRoutes } from './agent.routes.ts'
import { createChooseLocks } from './choose-locks.ts'
import { createPackageRequestTable } from './package-request-table.ts'
import { packagesApproval } from './packages-approval.ts'
import { createRequestPackages } from './request-packages.ts'
import { createRequestSize, sizeApproval } from './request-size.ts'

interface Needs {
  readonly agents: Pick<Agents, 'registry' | 'packages'>
  readonly resources: Resources
  readonly settingsFile: Pick<SettingsFile, 'current'>
  readonly approvals: Pick<ApprovalDesk, 'ask' | 'addKind'>
  readonly runs: Pick<Runs, 'queries' | 'delivery'>
  /** The highest use of an agent in the last hour as a sentence; null if nothing was measured. */
  readonly useOf: (agentId: string) => string | null
}

/** Creates the module for what agents ask of a person in their containers: packages, and another size. */
export function requestsModule(kernel: WorkKernel, needs: Needs): MeshModule<null> {
  const { approvals, resources } = needs
  const { registry, packages } = needs.agents
  const table = createPackageRequestTable(kernel.database)
  const shared = { ...kernel, ...needs, ...resources, table, registry, packages }
  const locks = createChooseLocks(shared)
  const requestPackages = createRequestPackages({ ...shared, stored: locks.wake })
  const requestSize = createRequestSize(shared)
  approvals.addKind(packagesApprovalKind, packagesApproval({ ...shared, grant: resources.packages.grant }))
  approvals.addKind(sizeApprovalKind, sizeApproval(shared))
  kernel.workEvents.runAwaits.subscribe(table.choosingOf)
  kernel.workEvents.runSettled.subscribe(({ id }) => locks.runSettled(id))
  kernel.fleetEvents.agentDeleted.subscribe(table.endOfAgent)
  return {
    api: null,
    routes: { agent: (surface) => requestAgentRoutes(surface, { requestPackages, requestSize }) },
    run: locks.run,
  }
}
