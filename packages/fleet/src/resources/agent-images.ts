import type { AgentImageView } from '@flotilla/protocol/agent-image'
import { isWithoutPackages } from '@flotilla/protocol/agent-packages'
import { Problem } from '@flotilla/protocol/problem'
import { agentSettingsOf } from '@flotilla/foundation/config'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { Journal } from '@flotilla/foundation/journal'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { Caller, Guard } from '@flotilla/identity/access'
import { rootOf } from '@flotilla/identity/events'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { AgentPackages, AgentRegistry } from '../agents/index.ts'
import { withHarness } from './harness-package.ts'

/** The owner's operations on the images from which agents run. Problem `unknown-agent`. */
export interface AgentImages {
  view(caller: Caller, agentId: string): AgentImageView
  /**
   * Makes the image fit for agents and tests it, and then sets it; null sets the agent image, with the package of its
   * harness. The agent uses it from its next run on. Problems `denied`, `human-only`, `conflict`, `unprocessable` with the reason why an image is refused, and
   * `packages-delayed`.
   */
  set(caller: Caller, agentId: string, image: string | null): Promise<AgentImageView>
}

export function createAgentImages(deps: {
  readonly guard: Guard
  readonly journal: Journal
  readonly identityEvents: Pick<IdentityEvents, 'makersOf'>
  readonly settingsFile: Pick<SettingsFile, 'current' | 'editAll'>
  readonly registry: Pick<AgentRegistry, 'find'>
  readonly packages: Pick<AgentPackages, 'listOf' | 'ownImage'>
}): AgentImages {
  const { guard, journal, identityEvents, settingsFile, registry, packages } = deps

  function viewOf(agentId: string): AgentImageView {
    if (!registry.find(agentId))
      throw new Problem('unknown-agent', { detail: `there is no agent ${agentId.slice(0, 64)}` })
    const root = rootOf(identityEvents, agentId)
    return {
      agent_id: agentId,
      set_at: root,
      image: agentSettingsOf(settingsFile.current(), root).image ?? null,
    }
  }

  function requireWithoutPackages(agentId: string): void {
    if (isWithoutPackages(packages.listOf(agentId))) return
    throw new Problem('conflict', {
      detail: `agent ${agentId} has packages, which are installed into the agent image only`,
      repair: `Put these programs into your image, then: flotilla packages set ${agentId} --none`,
    })
  }

  return {
    view: (caller, agentId) => {
      guard(caller, { do: 'view-fleet' })
      return viewOf(agentId)
    },
    set: async (caller, agentId, image) => {
      guard(caller, { do: 'edit-agent-config', agentId, what: 'permissions' })
      requireAtTerminal(caller, 'change the image of an agent')
      const { set_at: root } = viewOf(agentId)
      if (root !== agentId)
        throw new Problem('conflict', {
          detail: `agent ${agentId} was created by agents, and runs from the image of ${root}`,
          repair: `Change the image of ${root}.`,
        })
      if (image !== null) {
        requireWithoutPackages(agentId)
        await packages.ownImage(image).catch((error: unknown) => {
          if (!(error instanceof Problem) || error.code !== 'packages-unavailable') throw error
          throw new Problem('unprocessable', { detail: error.detail, repair: error.repair, cause: error })
        })
      }
      await settingsFile.editAll((settings) => {
        const edit = { field: ['agents', agentId, 'image'], value: image ?? undefined }
        const { harness = null, packages: listed = {}, image: before } = agentSettingsOf(settings, agentId)
        if (image !== null) requireWithoutPackages(agentId)
        if (image !== null || before === undefined) return [edit]
        // The image of before had the program of the harness itself.
        return [edit, { field: ['agents', agentId, 'packages'], value: withHarness(listed, harness) }]
      })
      journal.append({
        actor: actorOf(caller),
        action: 'agent.image-set',
        subject: agentId,
        detail: { image: image ?? '' },
      })
      return viewOf(agentId)
    },
  }
}
