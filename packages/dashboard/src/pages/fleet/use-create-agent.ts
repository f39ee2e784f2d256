import { useMutation } from '@tanstack/react-query'
import type { CallParts } from '@flotilla/client/mesh-call'
import { useServices } from '../../data/use-mesh.ts'
import { withProof } from '../../data/with-proof.ts'

/** A new agent as the form describes it. */
export interface NewAgent {
  readonly body: NonNullable<CallParts<'agentCreate'>['body']>
  /** Null without a heartbeat. */
  readonly heartbeat: string | null
  /** The permissions that it gets beside those of every agent. */
  readonly allowed: readonly string[]
}

const stale = ['status', 'fleetUse', 'budgets', 'heartbeats', 'cronJobs', 'permissionOrigins'] as const

/**
 * Creates an agent, and then sets its heartbeat and permissions. If a later step fails, the agent exists, and a message
 * says what it lacks.
 */
export function useCreateAgent() {
  const { client, queries, toasts, proofs } = useServices()
  return useMutation({
    mutationFn: async ({ body, heartbeat, allowed }: NewAgent) => {
      await withProof(proofs, 'agentCreate', () => client.call('agentCreate', { body }))
      const params = { id: body.id }
      try {
        if (heartbeat !== null) await client.call('heartbeatSet', { params, body: { schedule: heartbeat } })
        if (allowed.length > 0) {
          const set = Object.fromEntries(allowed.map((field) => [field, true]))
          const edit = { field: 'permissions', value: { set, add: {}, remove: {} }, reason: '' } as const
          await withProof(proofs, 'agentEdit', () => client.call('agentEdit', { params, body: edit }))
        }
      } catch (error) {
        toasts.fail(error)
      }
    },
    onError: (error) => toasts.fail(error),
    onSettled: () => {
      for (const name of stale) void queries.invalidateQueries({ queryKey: [name] })
    },
  })
}
