import { isDeepStrictEqual } from 'node:util'
import { formatHarness } from '@flotilla/protocol/agent-harness'
import type { AgentHarnessView } from '@flotilla/protocol/agent-harness'
import type { Harness } from '@flotilla/protocol/harness'
import { Problem } from '@flotilla/protocol/problem'
import { agentSettingsOf } from '@flotilla/foundation/config'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { Journal } from '@flotilla/foundation/journal'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { Caller, Guard } from '@flotilla/identity/access'
import { rootOf } from '@flotilla/identity/events'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { AgentRegistry } from '../agents/index.ts'
import { withHarness } from './harness-package.ts'

/** The programs that drive agents' runs, and their change by a person. Problem `unknown-agent`. */
export interface AgentHarnesses {
  view(caller: Caller, agentId: string): AgentHarnessView
  /**
   * Replaces the harness of an agent from its next run on, if it is still `seen`, where that is given. The package of a
   * known harness is added to the agent's list, unless the list has it or the agent runs from an image of the owner.
   * Problems `denied`, `human-only`, `conflict`.
   */
  set(
    caller: Caller,
    agentId: string,
    change: { readonly harness: Harness | null; readonly seen?: Harness | null | undefined },
  ): Promise<AgentHarnessView>
}

export function createAgentHarnesses(deps: {
  readonly guard: Guard
  readonly journal: Journal
  readonly identityEvents: Pick<IdentityEvents, 'makersOf'>
  readonly settingsFile: Pick<SettingsFile, 'current' | 'editAll'>
  readonly registry: Pick<AgentRegistry, 'require'>
}): AgentHarnesses {
  const { guard, journal, identityEvents, settingsFile, registry } = deps

  function viewOf(agentId: string): AgentHarnessView {
    registry.require(agentId)
    const root = rootOf(identityEvents, agentId)
    const { harness = null } = agentSettingsOf(settingsFile.current(), root)
    return { agent_id: agentId, set_at: root, harness }
  }

  return {
    view: (caller, agentId) => {
      guard(caller, { do: 'view-fleet' })
      return viewOf(agentId)
    },
    set: async (caller, agentId, { harness, seen }) => {
      guard(caller, { do: 'edit-agent-config', agentId, what: 'permissions' })
      requireAtTerminal(caller, 'change the harness of an agent')
      const { set_at: root } = viewOf(agentId)
      if (root !== agentId)
        throw new Problem('conflict', {
          detail: `agent ${agentId} was created by agents, and has the harness of ${root}`,
          repair: `Change the harness of ${root}.`,
        })
      await settingsFile.editAll((settings) => {
        const { harness: present = null, packages = {}, image } = agentSettingsOf(settings, agentId)
        if (seen !== undefined && !isDeepStrictEqual(present, seen))
          throw new Problem('conflict', {
            detail: `the harness of agent ${agentId} was changed in the meantime`,
            repair: 'Look at the present harness, then change it again.',
          })
        const set = { field: ['agents', agentId, 'harness'], value: harness ?? undefined }
        // An image of the owner gets no packages, so it has the program itself.
        if (image !== undefined) return [set]
        return [set, { field: ['agents', agentId, 'packages'], value: withHarness(packages, harness) }]
      })
      journal.append({
        actor: actorOf(caller),
        action: 'agent.harness-set',
        subject: agentId,
        detail: { harness: harness === null ? null : formatHarness(harness) },
      })
      return viewOf(agentId)
    },
  }
}
