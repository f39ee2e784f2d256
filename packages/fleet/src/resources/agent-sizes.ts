import { isSameAgentSize, limitsOf } from '@flotilla/protocol/agent-size'
import type { AgentSizeSet, AgentSizeView, WholeSize } from '@flotilla/protocol/agent-size'
import { Problem } from '@flotilla/protocol/problem'
import { agentSettingsOf } from '@flotilla/foundation/config'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { Journal } from '@flotilla/foundation/journal'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { Caller, Guard } from '@flotilla/identity/access'
import { rootOf } from '@flotilla/identity/events'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { AgentRegistry, Fleet } from '../agents/index.ts'
import { agentSize } from '../sandbox/index.ts'
import type { AgentSize, Capacity } from '../sandbox/index.ts'

/** The sizes of agents, and their change by a person. Problem `unknown-agent`. */
export interface AgentSizes {
  /** Returns what the owner set for an agent, and the size that follows. */
  of(agentId: string): { readonly set: AgentSizeSet; readonly size: AgentSize }
  /** Returns the size of an agent after a change. Problem `size-unavailable` if the machine is too small for it. */
  possible(agentId: string, set: AgentSizeSet): AgentSize
  /** Returns what agents may use of the machine; null if it is unknown. */
  capacity(): Capacity | null
  view(caller: Caller, agentId: string): AgentSizeView
  /**
   * Replaces the size of an agent from its next start on, if its setting is still `seen`, where that is given.
   * Problems `denied`, `human-only`, `conflict`, `size-unavailable`.
   */
  set(
    caller: Caller,
    agentId: string,
    change: { readonly size: AgentSizeSet; readonly seen?: AgentSizeSet | undefined },
  ): Promise<AgentSizeView>
}

export function createAgentSizes(deps: {
  readonly guard: Guard
  readonly journal: Journal
  readonly identityEvents: Pick<IdentityEvents, 'makersOf'>
  readonly settingsFile: Pick<SettingsFile, 'current' | 'editAll'>
  readonly registry: Pick<AgentRegistry, 'require'>
  readonly room: Pick<Fleet['room'], 'capacity' | 'requirePossible'>
}): AgentSizes {
  const { guard, journal, identityEvents, settingsFile, registry, room } = deps

  function kindOf(agentId: string) {
    return registry.require(agentId).kind
  }

  function sizeOf(agentId: string) {
    const kind = kindOf(agentId)
    const root = rootOf(identityEvents, agentId)
    const set = agentSettingsOf(settingsFile.current(), root).size ?? {}
    return { kind, root, set, size: agentSize(kind, set) }
  }

  function viewOf(agentId: string): AgentSizeView {
    const { kind, root, set, size } = sizeOf(agentId)
    return {
      agent_id: agentId,
      set_at: root,
      set,
      size: inUnits(size),
      preset: inUnits(agentSize(kind)),
    }
  }

  function possible(agentId: string, set: AgentSizeSet): AgentSize {
    const size = agentSize(kindOf(agentId), set)
    room.requirePossible(agentId, size)
    return size
  }

  return {
    of: sizeOf,
    possible,
    capacity: room.capacity,
    view: (caller, agentId) => {
      guard(caller, { do: 'view-fleet' })
      return viewOf(agentId)
    },
    set: async (caller, agentId, { size, seen }) => {
      guard(caller, { do: 'edit-agent-config', agentId, what: 'permissions' })
      requireAtTerminal(caller, 'change the size of an agent')
      const { set_at: root } = viewOf(agentId)
      if (root !== agentId)
        throw new Problem('conflict', {
          detail: `agent ${agentId} was created by agents, and has the size of ${root}`,
          repair: `Change the size of ${root}.`,
        })
      possible(agentId, size)
      const value = limitsOf(size)
      await settingsFile.editAll((settings) => {
        const present = agentSettingsOf(settings, agentId).size ?? {}
        if (seen !== undefined && !isSameAgentSize(present, seen))
          throw new Problem('conflict', {
            detail: `the size of agent ${agentId} was changed in the meantime`,
            repair: 'Look at the present size, then change it again.',
          })
        return [
          {
            field: ['agents', agentId, 'size'],
            value: Object.keys(value).length === 0 ? undefined : value,
          },
        ]
      })
      journal.append({
        actor: actorOf(caller),
        action: 'agent.size-set',
        subject: agentId,
        detail: value,
      })
      return viewOf(agentId)
    },
  }
}

const mb = 1024 * 1024

/** Converts a size from the units of the engine to those of the settings. Pure. */
function inUnits({ memoryLimitBytes, cpu, pidsLimit, tmpSizeBytes }: AgentSize): WholeSize {
  return {
    memory_mb: memoryLimitBytes / mb,
    cpus: cpu.quotaUs / cpu.periodUs,
    pids: pidsLimit,
    tmp_mb: tmpSizeBytes / mb,
  }
}
