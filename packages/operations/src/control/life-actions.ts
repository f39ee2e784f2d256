import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { AgentAdmin, FleetLifecycle } from '@flotilla/fleet/agents'
import type { Resumable } from '@flotilla/foundation/storage'
import type { AgentViews } from '@flotilla/inference/spending'

type Step = Pick<Resumable<unknown>, 'begun' | 'begin'>

/** Lifecycle actions of people, the operator and programs of this machine on agents: one use case for all of them. */
export function createLifeActions(deps: {
  readonly guard: Guard
  readonly agents: Pick<AgentAdmin, 'archive'> & Pick<FleetLifecycle, 'restart' | 'stop' | 'hibernate'>
  readonly views: AgentViews
}) {
  const { guard, agents, views } = deps

  /** Checks the permission first, whatever the use case checks itself, and returns the agent's state afterwards. */
  async function act(caller: Caller, agentId: string, work: () => Promise<void>): Promise<AgentView> {
    guard(caller, { do: 'manage-agent', agentId })
    await work()
    return views.of(agentId)
  }

  return {
    archived: (caller: Caller): readonly AgentView[] => {
      guard(caller, { do: 'view-fleet' })
      return views.all().filter(({ archived }) => archived)
    },
    archive: (caller: Caller, agentId: string) =>
      act(caller, agentId, () => agents.archive.archive(caller, agentId)),
    unarchive: (caller: Caller, agentId: string) =>
      act(caller, agentId, () => agents.archive.unarchive(caller, agentId)),
    restart: (caller: Caller, agentId: string, step?: Step) =>
      act(caller, agentId, () => agents.restart(caller, agentId, step)),
    stop: (caller: Caller, agentId: string, step?: Step) =>
      act(caller, agentId, () =>
        agents.stop(
          agentId,
          caller.kind === 'agent' ? 'the operator stopped the agent' : 'a person stopped the agent',
          step,
        ),
      ),
    hibernate: (caller: Caller, agentId: string) =>
      act(caller, agentId, () => agents.hibernate(caller, agentId)),
  }
}

export type LifeActions = ReturnType<typeof createLifeActions>
