import { isWithoutPackages, joinPackages, packagesPerRegistryMax } from '@flotilla/protocol/agent-packages'
import type { PackageList } from '@flotilla/protocol/agent-packages'
import { Problem } from '@flotilla/protocol/problem'
import { resourceRequestLimits } from '@flotilla/protocol/resource-requests-api'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { hasRoom } from '@flotilla/foundation/intake'
import { actorOf } from '@flotilla/identity/access'
import type { AgentCaller } from '@flotilla/identity/http'
import { rootOf } from '@flotilla/identity/events'
import { joinedList } from '@flotilla/fleet/resources'
import { packagesKey } from '@flotilla/fleet/sandbox'
import type { AgentPackages } from '@flotilla/fleet/agents'
import type { WorkKernel } from '@flotilla/work/events'
import type { PackageRequest, PackageRequestTable } from './package-request-table.ts'
import { hourMs, packageRequestLimits } from './request-limits.ts'

/** Problems `denied`, `stale-fence`, `bad-request`, `packages-unavailable`, `conflict`, `approvals-full`. */
export type RequestPackages = (
  caller: AgentCaller,
  wanted: { readonly packages: PackageList; readonly reason: string },
) => PackageRequest

/** Stores a request, for which `choose-locks.ts` then chooses a lock and asks a person. */
export function createRequestPackages(
  deps: Pick<WorkKernel, 'guard' | 'database' | 'journal' | 'clock' | 'newId' | 'identityEvents'> & {
    readonly table: PackageRequestTable
    readonly packages: Pick<AgentPackages, 'stateOf' | 'listWith' | 'keyOf' | 'hasOwnImage'>
    /** Called after the request is stored. */
    readonly stored: () => void
  },
): RequestPackages {
  const { guard, database, journal, clock, table, packages } = deps

  function requireRoom(agentId: string): void {
    const { open, recent } = table.counts(agentId, clock.now() - hourMs)
    const { open: openBounds, perHour } = packageRequestLimits
    if (!hasRoom(open, openBounds))
      throw new Problem('approvals-full', {
        detail: `${open.own} of your requests for packages are open, and ${open.total} of all agents; wait for an answer`,
        retryAfterSeconds: 600,
      })
    if (!hasRoom(recent, perHour))
      throw new Problem('approvals-full', {
        detail: `${recent.own} requests for packages of yours within an hour, and ${recent.total} of all agents, are the limit`,
        retryAfterSeconds: 1800,
      })
  }

  return (caller, { packages: wanted, reason }) => {
    const { agentId, run } = caller
    guard(caller, { do: 'act-for-self', agentId })
    if (run === null) throw new Problem('stale-fence')
    const more = joinedList(wanted, {})
    const count = Object.values(more).flat().length
    if (isWithoutPackages(joinPackages([more])) || count > resourceRequestLimits.packagesMax)
      throw new Problem('bad-request', {
        detail: `a request names 1 to ${resourceRequestLimits.packagesMax} packages, and this one names ${count}`,
      })
    const rootId = rootOf(deps.identityEvents, agentId)
    const list = packages.listWith(rootId, more)
    const [full] = (['apt', 'npm', 'pip'] as const).filter(
      (registry) => list[registry].length > packagesPerRegistryMax,
    )
    if (full !== undefined)
      throw new Problem('bad-request', {
        detail: `the image of ${rootId} would have ${list[full].length} packages of ${full} with this request, and ${packagesPerRegistryMax} are the limit`,
      })
    if (packages.hasOwnImage(rootId))
      throw new Problem('packages-unavailable', {
        detail: 'your image is one that the owner built, and gets no packages',
        repair: 'Use the programs that are there, or ask the owner with notify_user.',
      })
    const key = packagesKey(list)
    const { state, detail } = packages.stateOf(key)
    if (state === 'unavailable')
      throw new Problem('packages-unavailable', {
        detail,
        repair: 'Use the programs that are there, or ask the owner with notify_user.',
      })
    if (key === packages.keyOf(rootId))
      throw new Problem('conflict', {
        detail: 'your image has these packages already, from your next run on',
      })
    return database.transaction(() => {
      const known = table.openLike({ runId: run.runId, packages: more })
      if (known !== null) return known
      table.trim(clock.now() - hourMs)
      requireRoom(agentId)
      const id = deps.newId('pack')
      const words = sanitizeForPrompt(reason)
      table.insert({ id, agentId, rootId, runId: run.runId, packages: more, reason: words }, clock.now())
      journal.append({
        actor: actorOf(caller),
        action: 'packages.requested',
        subject: rootId,
        detail: { request: id, run: run.runId, packages: JSON.stringify(more) },
      })
      database.afterCommit(deps.stored)
      const request = table.byId(id)
      if (request === null) throw new Error('a request that was just written is there')
      return request
    })
  }
}
