import { isSameAgentSize } from '@flotilla/protocol/agent-size'
import type { AgentSizeSet, AgentSizeView, WholeSize } from '@flotilla/protocol/agent-size'
import { Problem } from '@flotilla/protocol/problem'
import { agentSettingsOf } from '@flotilla/foundation/config'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { Journal } from '@flotilla/foundation/journal'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { Caller, Guard } from '@flotilla/identity/access'
import { rootOf } from '@flotilla/identity/events'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { AgentRegistry } from '../agents/index.ts'
import { agentSize } from '../sandbox/index.ts'
import type { AgentSize } from '../sandbox/index.ts'

/** The sizes of agents as people see and change them. Problems `denied`, `human-only`, `unknown-agent`, `conflict`. */
export interface AgentSizes {
  view(caller: Caller, agentId: string): AgentSizeView
  /** Replaces the size of an agent from its next start on, if its setting is still `seen`, where that is given. */
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
  readonly registry: Pick<AgentRegistry, 'find'>
}): AgentSizes {
  const { guard, journal, identityEvents, settingsFile, registry } = deps

  function viewOf(agentId: string): AgentSizeView {
    const record = registry.find(agentId)
    if (!record) throw new Problem('unknown-agent', { detail: 'no agent has this id' })
    const root = rootOf(identityEvents, agentId)
    const set = agentSettingsOf(settingsFile.current(), root).size ?? {}
    return {
      agent_id: agentId,
      set_at: root,
      set,
      size: inUnits(agentSize(record.kind, set)),
      preset: inUnits(agentSize(record.kind)),
    }
  }

  return {
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
      const value = Object.fromEntries(
        Object.entries(size).flatMap(([name, limit]) =>
          limit === undefined ? [] : [[name, limit] as const],
        ),
      )
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
