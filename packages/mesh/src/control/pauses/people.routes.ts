import type { FastifyInstance } from 'fastify'
import { pauseApi as api, pauseEndpoints as endpoints } from '@flotilla/protocol/pause-api'
import type { Pauses } from './pauses.ts'
import { createBinder } from '../../http/bind-endpoint.ts'
import type { HumanGate } from '../../http/gates/people-gate.ts'

/** What is said where nobody said why. */
const noReason = 'paused by its owner'

export function pauseRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: HumanGate; readonly use: Pick<Pauses, 'list' | 'pause' | 'resume'> },
): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  bind(endpoints.pauses, api.pauses, async ({ raw }) => ({ pauses: [...use.list(gate(raw))] }))
  bind(endpoints.pause, api.pause, async ({ raw, body }) =>
    use.pause(gate(raw), { agentId: body.agent_id, reason: body.reason.trim() || noReason, now: body.now }),
  )
  bind(endpoints.resume, api.resume, async ({ raw, body }) => use.resume(gate(raw), body.agent_id))
}
