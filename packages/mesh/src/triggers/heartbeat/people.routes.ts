import type { FastifyInstance } from 'fastify'
import type { HeartbeatView } from '@flotilla/protocol/heartbeat-api'
import { heartbeatApi as api, heartbeatEndpoints as endpoints } from '@flotilla/protocol/heartbeat-api'
import type { Caller } from '../../access/caller.ts'
import { createBinder } from '../../http/bind-endpoint.ts'
import { keptAliveReply } from '../../http/kept-alive-reply.ts'
import type { HumanGate } from '../../http/gates/people-gate.ts'
import { awaitOutcome } from '../../runs/delivery/run-outcome.ts'
import type { TellOutcome } from '../../runs/delivery/run-outcome.ts'

/** Use cases of people about heartbeats. */
export interface HeartbeatUseCases extends TellOutcome {
  list(caller: Caller): Promise<{ heartbeats: HeartbeatView[] }>
  runNow(
    caller: Caller,
    agentId: string,
    asked: { readonly ifNeeded: boolean },
  ): Promise<{ readonly skipped: string } | { readonly runId: string }>
  set(caller: Caller, agentId: string, schedule: string | null): Promise<HeartbeatView>
}

export interface HeartbeatRoutesDeps {
  readonly gate: HumanGate
  readonly use: HeartbeatUseCases
  readonly keepAliveMs: number
}

export function heartbeatRoutes(
  scope: FastifyInstance,
  { gate, use, keepAliveMs }: HeartbeatRoutesDeps,
): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  bind(endpoints.heartbeats, api.heartbeats, async ({ raw }) => use.list(gate(raw)))
  bind(endpoints.heartbeatRun, api.heartbeatRun, async ({ raw, params, body, reply }) => {
    const caller = gate(raw)
    const end = await use.runNow(caller, params['id'] ?? '', { ifNeeded: body.if_needed })
    if ('skipped' in end) return { skipped: end.skipped, run: null }
    const ended = async () => ({
      skipped: null,
      run: await awaitOutcome(use, { runId: end.runId, caller }, reply),
    })
    return keptAliveReply(reply, keepAliveMs, ended())
  })
  bind(endpoints.heartbeatSet, api.heartbeatSet, async ({ raw, params, body }) =>
    use.set(gate(raw), params['id'] ?? '', body.schedule),
  )
}
