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
import type { FleetEvents } from '../events/index.ts'
import type { AgentPackages, AgentRegistry } from '../agents/index.ts'
import { withHarness } from './harness-package.ts'

/** The owner's operations on the images from which agents run. Problem `unknown-agent`. */
export interface AgentImages {
  view(caller: Caller, agentId: string): AgentImageView
  /**
   * Makes the image fit for agents and tests it, and then sets it; null sets the agent image, with the package of its
   * harness. The agent uses it from its next run on. Problems `denied`, `human-only`, `conflict`, `unprocessable` with the
   * reason why an image is refused, `packages-delayed`, and `unknown-agent` if the agent is deleted meanwhile.
   */
  set(
    caller: Caller,
    agentId: string,
    change: {
      readonly image: string | null
      /** Aborts when the caller does not wait any more. A deletion of the agent ends the wait as well. */
      readonly signal?: AbortSignal
    },
  ): Promise<AgentImageView>
}

export function createAgentImages(deps: {
  readonly guard: Guard
  readonly journal: Journal
  readonly fleetEvents: Pick<FleetEvents, 'agentDeleted'>
  readonly identityEvents: Pick<IdentityEvents, 'makersOf'>
  readonly settingsFile: Pick<SettingsFile, 'current' | 'editAll'>
  readonly registry: Pick<AgentRegistry, 'require'>
  readonly packages: Pick<AgentPackages, 'listOf' | 'ownImage'>
}): AgentImages {
  const { guard, journal, fleetEvents, identityEvents, settingsFile, registry, packages } = deps

  /** The images that are being made for agents; aborted when the agent is deleted. */
  const waiting = new Set<{ readonly agentId: string; readonly deleted: AbortController }>()
  fleetEvents.agentDeleted.subscribe((agentId) => {
    for (const wait of waiting) if (wait.agentId === agentId) wait.deleted.abort(deletedMeanwhile(agentId))
  })

  async function tested(agentId: string, image: string, signal: AbortSignal | undefined): Promise<void> {
    const wait = { agentId, deleted: new AbortController() }
    const until = [wait.deleted.signal, ...(signal ? [signal] : [])]
    waiting.add(wait)
    try {
      await packages.ownImage(image, AbortSignal.any(until))
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'packages-unavailable') throw error
      throw new Problem('unprocessable', { detail: error.detail, repair: error.repair, cause: error })
    } finally {
      waiting.delete(wait)
    }
  }

  function viewOf(agentId: string): AgentImageView {
    registry.require(agentId)
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
    set: async (caller, agentId, { image, signal }) => {
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
        await tested(agentId, image, signal)
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

function deletedMeanwhile(agentId: string): Problem {
  return new Problem('conflict', { detail: `agent ${agentId} was deleted while its image was made` })
}
