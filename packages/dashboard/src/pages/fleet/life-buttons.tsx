import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { useAction, useRefusal, useServices } from '../../data/use-mesh.ts'
import { DeleteAgent } from '../agent/delete-agent.tsx'

const stale = ['status', 'fleetUse'] as const

/** Actions that start, stop or archive an agent; archiving can be undone. */
export function useLife(agent: AgentView) {
  const { client } = useServices()
  const { id } = agent
  const parts = { params: { id } }
  const restart = useAction('agentRestart', { done: `${id} was restarted.`, stale })
  const hibernate = useAction('agentHibernate', { done: `${id} hibernates; its next run wakes it.`, stale })
  const unarchive = useAction('agentUnarchive', { done: `${id} is no longer archived.`, stale })
  const archive = useAction('agentArchive', {
    done: `${id} is archived.`,
    stale,
    undo: () => ({
      by: 'agentUnarchive',
      run: () => client.call('agentUnarchive', parts),
      done: `${id} is no longer archived.`,
    }),
  })
  // Restart, hibernate, archive and unarchive need the same role, so one check covers all.
  const refusal = useRefusal({ call: 'agentRestart', agent: id })
  const busy = [restart, hibernate, unarchive, archive].some(({ isPending }) => isPending)
  const offered = [
    {
      words: 'Restart',
      act: () => restart.mutate(parts),
      why: agent.busy ? 'The agent is working.' : null,
      offered: !agent.archived,
    },
    {
      words: 'Hibernate',
      act: () => hibernate.mutate(parts),
      why: agent.busy
        ? 'The agent is working.'
        : agent.state === 'running'
          ? null
          : 'The agent is not running.',
      offered: !agent.archived,
    },
    {
      words: 'Archive',
      act: () => archive.mutate(parts),
      why: agent.busy ? 'The agent is working.' : null,
      offered: !agent.archived && agent.kind === 'worker',
    },
    { words: 'Unarchive', act: () => unarchive.mutate(parts), why: null, offered: agent.archived },
  ]
  const actions = offered.filter((one) => one.offered).map((one) => ({ ...one, why: refusal ?? one.why }))
  return { busy, actions }
}

export function LifeButtons({ agent }: { readonly agent: AgentView }) {
  const { busy, actions } = useLife(agent)
  return (
    <div className="row">
      {actions.map(({ words: label, act, why }) => (
        <button
          key={label}
          type="button"
          className="button"
          disabled={busy || why !== null}
          title={why ?? undefined}
          onClick={act}
        >
          {label}
        </button>
      ))}
      {agent.kind === 'worker' && <DeleteAgent agent={agent} />}
    </div>
  )
}
