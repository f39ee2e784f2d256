import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { deletedWithAgent, usesOf } from '@flotilla/client/agent-uses'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { useAction, useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Confirm } from '../../design/confirm.tsx'
import { Failed, Loading } from '../../design/parts.tsx'
import { Points } from '../../design/points.tsx'

/** The answers that the deletion of an agent makes outdated. */
export const staleAfterDeletion = [
  'status',
  'fleetUse',
  'pauses',
  'budgets',
  'pending',
  'cronJobs',
  'heartbeats',
  'webhooks',
  'watchers',
] as const

/** A button that deletes a worker after a confirmation; the mesh asks for the owner's proof. */
export function DeleteAgent({ agent }: { readonly agent: AgentView }) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Act call="agentDelete" agent={agent.id} className="button danger" onClick={() => setAsking(true)}>
        Delete {agent.id} …
      </Act>
      {isAsking && <Asked agent={agent} onClose={() => setAsking(false)} />}
    </>
  )
}

function Asked({
  agent: { id, busy },
  onClose,
}: {
  readonly agent: AgentView
  readonly onClose: () => void
}) {
  const [, navigate] = useLocation()
  const { client } = useServices()
  const uses = useQuery({
    queryKey: ['agentUses', id],
    queryFn: ({ signal }) => usesOf(client, id, signal),
    staleTime: 0,
  })
  const remove = useAction('agentDelete', { done: `${id} is deleted.`, stale: staleAfterDeletion })
  return (
    <Confirm
      title={`Delete ${id}?`}
      action={`Delete ${id}`}
      busy={remove.isPending}
      // The page of the agent may be gone before the reply comes, and with it a callback of the mutation.
      onConfirm={() =>
        void remove.mutateAsync({ params: { id } }).then(
          () => navigate('/fleet'),
          () => undefined,
        )
      }
      onClose={onClose}
    >
      <p>
        This deletes the agent with {deletedWithAgent} It cannot be undone; to keep the data, archive the
        agent.
      </p>
      {busy && <p>It is working now; the deletion ends its runs.</p>}
      {uses.isPending && <Loading rows={1} />}
      {uses.error && <Failed error={uses.error} retry={uses.refetch} />}
      {uses.data && uses.data.length > 0 && (
        <>
          <p>These give work to it:</p>
          <Points sentences={uses.data} />
        </>
      )}
    </Confirm>
  )
}
