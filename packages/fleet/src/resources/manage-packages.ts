import { isWithoutPackages, joinPackages, packageListSchema } from '@flotilla/protocol/agent-packages'
import type { JoinedPackages, PackageList } from '@flotilla/protocol/agent-packages'
import type { AgentPackagesView, PackageImageView } from '@flotilla/protocol/packages-api'
import { Problem } from '@flotilla/protocol/problem'
import type { SettingsFile } from '@flotilla/foundation/config'
import { agentSettingsOf } from '@flotilla/foundation/config'
import type { Journal } from '@flotilla/foundation/journal'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { Caller, Guard } from '@flotilla/identity/access'
import { rootOf } from '@flotilla/identity/events'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { AgentPackages, AgentRegistry } from '../agents/index.ts'
import { lockDigest, packagesKey } from '../sandbox/index.ts'
import type { PackageLock } from '../sandbox/index.ts'
import { joinedList } from './joined-list.ts'

/** The owner's operations on the packages of agents. Problems `denied`, `unknown-agent`, `conflict`. */
export interface ManagePackages {
  list(caller: Caller): Promise<{ readonly images: PackageImageView[] }>
  view(caller: Caller, agentId: string): Promise<AgentPackagesView>
  set(caller: Caller, agentId: string, list: PackageList): Promise<AgentPackagesView>
  /**
   * Adds packages to the list of an agent, with a lock of the whole list, once the image is built. Problems as of `set`,
   * and those of the build.
   */
  grant(caller: Caller, agentId: string, granted: GrantedPackages): Promise<void>
  /** Begins a build with the newest versions; the view shows its progress. */
  rebuild(caller: Caller, agentId: string): Promise<AgentPackagesView>
}

export interface GrantedPackages {
  readonly packages: PackageList
  /** The whole list that the agent then has, and its lock. */
  readonly list: JoinedPackages
  readonly lock: PackageLock
  /** Called right before the change; throws if it comes too late. */
  readonly requireInTime: () => void
}

export function createManagePackages(deps: {
  readonly guard: Guard
  readonly journal: Journal
  readonly identityEvents: Pick<IdentityEvents, 'makersOf'>
  readonly settingsFile: Pick<SettingsFile, 'current' | 'editAll'>
  readonly registry: Pick<AgentRegistry, 'require' | 'list'>
  readonly packages: AgentPackages
}): ManagePackages {
  const { packages } = deps

  async function imageOf(agentId: string): Promise<PackageImageView | null> {
    const list = packages.listOf(agentId)
    if (isWithoutPackages(list)) return null
    const key = packages.keyOf(agentId)
    const lock = await packages.lockOf(key).catch(() => null)
    const shown = (entries: readonly { readonly name: string; readonly version: string }[]) =>
      entries.map(({ name, version }) => ({ name, version }))
    return {
      key,
      agents: deps.registry
        .list()
        .map(({ id }) => id)
        .filter((id) => packages.keyOf(id) === key),
      packages: { apt: [...list.apt], npm: [...list.npm], pip: [...list.pip] },
      locked: lock && { apt: shown(lock.apt), npm: shown(lock.npm), pip: shown(lock.pip) },
      lock: lock && lockDigest(lock),
      lock_file: packages.lockFileOf(key),
      ...packages.stateOf(key),
    }
  }

  async function viewOf(agentId: string): Promise<AgentPackagesView> {
    const own = agentSettingsOf(deps.settingsFile.current(), agentId).packages ?? {}
    return { agent_id: agentId, own, image: await imageOf(agentId) }
  }

  function requireAgent(agentId: string): void {
    deps.registry.require(agentId)
  }

  /** The packages of the root ancestor apply to all descendants, so a list of a descendant would have no effect. */
  function requireRoot(agentId: string): void {
    const root = rootOf(deps.identityEvents, agentId)
    if (root === agentId) return
    throw new Problem('conflict', {
      detail: `agent ${agentId} was created by agents, and uses the packages of ${root}`,
      repair: `Change them for both: flotilla packages set ${root}`,
    })
  }

  function requireNoOwnImage(agentId: string): void {
    if (!packages.hasOwnImage(agentId)) return
    throw new Problem('conflict', {
      detail: `agent ${agentId} runs from an image of the owner, which gets no packages`,
      repair: `Put the programs into that image, or first: flotilla image set ${agentId} --none`,
    })
  }

  return {
    list: async (caller) => {
      deps.guard(caller, { do: 'view-fleet' })
      const images = new Map<string, PackageImageView>()
      for (const { id } of deps.registry.list()) {
        if (images.has(packages.keyOf(id))) continue
        const image = await imageOf(id)
        if (image !== null) images.set(image.key, image)
      }
      return { images: [...images.values()] }
    },
    view: async (caller, agentId) => {
      deps.guard(caller, { do: 'view-fleet' })
      requireAgent(agentId)
      return viewOf(agentId)
    },
    set: async (caller, agentId, list) => {
      deps.guard(caller, { do: 'edit-agent-config', agentId, what: 'permissions' })
      requireAtTerminal(caller, 'change the packages of an agent')
      requireAgent(agentId)
      requireRoot(agentId)
      if (!isWithoutPackages(joinPackages([list]))) requireNoOwnImage(agentId)
      const value = packageListSchema.parse(
        Object.fromEntries(
          Object.entries(list).filter(([, names]) => names !== undefined && names.length > 0),
        ),
      )
      await deps.settingsFile.editAll(() => [
        {
          field: ['agents', agentId, 'packages'],
          value: Object.keys(value).length === 0 ? undefined : value,
        },
      ])
      deps.journal.append({
        actor: actorOf(caller),
        action: 'agent.packages-set',
        subject: agentId,
        detail: Object.fromEntries(
          Object.entries(value).map(([from, names = []]) => [from, names.join(' ')]),
        ),
      })
      return viewOf(agentId)
    },
    grant: async (caller, agentId, { packages: more, list, lock, requireInTime }) => {
      deps.guard(caller, { do: 'edit-agent-config', agentId, what: 'permissions' })
      requireAtTerminal(caller, 'change the packages of an agent')
      requireAgent(agentId)
      requireRoot(agentId)
      requireNoOwnImage(agentId)
      const requireSameList = (): void => {
        if (packagesKey(packages.listWith(agentId, more)) === packagesKey(list)) return
        throw new Problem('conflict', {
          detail: `the packages of agent ${agentId} were changed since the request; request the packages again`,
        })
      }
      requireSameList()
      await packages.buildLocked(list, lock)
      await deps.settingsFile.editAll((settings) => {
        requireSameList()
        requireInTime()
        const own = agentSettingsOf(settings, agentId).packages ?? {}
        return [{ field: ['agents', agentId, 'packages'], value: joinedList(own, more) }]
      })
      deps.journal.append({
        actor: actorOf(caller),
        action: 'agent.packages-granted',
        subject: agentId,
        detail: { key: packagesKey(list), lock: lockDigest(lock) },
      })
    },
    rebuild: async (caller, agentId) => {
      deps.guard(caller, { do: 'edit-agent-config', agentId, what: 'permissions' })
      requireAgent(agentId)
      packages.beginRebuild(agentId)
      deps.journal.append({
        actor: actorOf(caller),
        action: 'agent.packages-rebuilt',
        subject: agentId,
        detail: { key: packages.keyOf(agentId) },
      })
      return viewOf(agentId)
    },
  }
}
