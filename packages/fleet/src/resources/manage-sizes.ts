import { Problem } from '@flotilla/protocol/problem'
import { agentSettingsOf } from '@flotilla/foundation/config'
import type { AgentSizeSettings, SettingsFile } from '@flotilla/foundation/config'
import type { Journal } from '@flotilla/foundation/journal'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { AgentRegistry, Fleet } from '../agents/index.ts'
import { agentSize } from '../sandbox/index.ts'
import type { AgentSize, Capacity } from '../sandbox/index.ts'

/** The sizes of agents, and their change by a person. */
export interface ManageSizes {
  /** Returns what the owner set for an agent, and the size that follows. Problem `unknown-agent`. */
  of(agentId: string): { readonly set: AgentSizeSettings; readonly size: AgentSize }
  /** Returns the size of an agent after a change. Problem `size-unavailable` if the machine is too small for it. */
  possible(agentId: string, set: AgentSizeSettings): AgentSize
  /** Returns what agents may use of the machine; null if it is unknown. */
  capacity(): Capacity | null
  /**
   * Sets the size of an agent from its next run on, if its size is still `from`. Problems `denied`, `unknown-agent`,
   * `conflict`, `size-unavailable`.
   */
  set(
    caller: Caller,
    agentId: string,
    change: { readonly from: AgentSizeSettings; readonly to: AgentSizeSettings },
  ): Promise<void>
}

export function createManageSizes(deps: {
  readonly guard: Guard
  readonly journal: Journal
  readonly settingsFile: Pick<SettingsFile, 'current' | 'editAll'>
  readonly registry: Pick<AgentRegistry, 'find'>
  readonly room: Fleet['room']
}): ManageSizes {
  const { guard, journal, settingsFile, registry, room } = deps

  function kindOf(agentId: string) {
    const record = registry.find(agentId)
    if (!record) throw new Problem('unknown-agent', { detail: `there is no agent ${agentId.slice(0, 64)}` })
    return record.kind
  }

  function possible(agentId: string, set: AgentSizeSettings): AgentSize {
    const size = agentSize(kindOf(agentId), set)
    room.requirePossible(agentId, size)
    return size
  }

  return {
    of: (agentId) => {
      const kind = kindOf(agentId)
      const set = agentSettingsOf(settingsFile.current(), agentId).size ?? {}
      return { set, size: agentSize(kind, set) }
    },
    possible,
    capacity: room.capacity,
    set: async (caller, agentId, { from, to }) => {
      guard(caller, { do: 'edit-agent-config', agentId, what: 'permissions' })
      requireAtTerminal(caller, 'change the size of an agent')
      possible(agentId, to)
      await settingsFile.editAll((settings) => {
        if (!isSameSize(agentSettingsOf(settings, agentId).size ?? {}, from))
          throw new Problem('conflict', {
            detail: `the size of agent ${agentId} was changed since the request; request another size again`,
          })
        return [{ field: ['agents', agentId, 'size'], value: to }]
      })
      journal.append({
        actor: actorOf(caller),
        action: 'agent.size-granted',
        subject: agentId,
        detail: { size: JSON.stringify(to) },
      })
    },
  }
}

/** Returns whether both set the same limits. Pure. */
export function isSameSize(one: AgentSizeSettings, other: AgentSizeSettings): boolean {
  return (['memory_mb', 'cpus', 'pids', 'tmp_mb'] as const).every((name) => one[name] === other[name])
}
