import type { FastifyReply } from 'fastify'
import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import { alreadySent, idempotencyKeyIn, keptAliveReply, openEventStream } from '@flotilla/identity/http'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { Caller } from '@flotilla/identity/access'
import { awaitOutcome, readWhenSent } from './delivery/deliver-outcome.ts'
import { defaultSession } from './conversation.ts'
import type { Ledger } from './ledger.ts'
import type { LookUpRuns } from './look-up-runs.ts'
import { originOf } from './submit-run.ts'
import { steerView } from './steering/steer-view.ts'

interface RunRoutesDeps {
  readonly ledger: Pick<Ledger, 'queue' | 'steering' | 'lifecycle' | 'queries' | 'delivery'>
  readonly lookUp: LookUpRuns
}

export function runPeopleRoutes(
  { bind, keepAliveMs }: PeopleSurface,
  { ledger, lookUp }: RunRoutesDeps,
): void {
  const { queue, steering, lifecycle, queries } = ledger
  const { outcomes } = ledger.delivery
  bind(endpoints.chat, api.chat, async ({ caller, raw, params, body, reply }) => {
    // Without a named session, the caller's default session is used.
    const { message, session = defaultSession(originOf(caller)), max_usd: budgetUsd = null } = body
    const input = { kind: 'chat', message, session } as const
    const run = queue.submitRun(caller, { agentId: params.id, input, budgetUsd, ...idempotencyKeyIn(raw) })
    if (!(raw.headers.accept ?? '').includes('text/event-stream'))
      return waited({ runId: run.id, caller }, reply)
    const stream = openEventStream(reply, keepAliveMs)
    for await (const frame of outcomes.follow(run.id, stream.signal)) {
      if (frame.type === 'ended') readWhenSent(outcomes, { runId: run.id, caller }, reply)
      stream.send(frame)
    }
    stream.end()
    return alreadySent
  })
  bind(endpoints.runStream, api.runStream, async ({ caller, params, reply }) => {
    const { id } = lookUp.one(caller, params.id)
    const stream = openEventStream(reply, keepAliveMs)
    // Only a look: the outcome still has to reach the caller that sent the message.
    for await (const frame of outcomes.replay(id, stream.signal)) stream.send(frame)
    stream.end()
    return alreadySent
  })
  bind(endpoints.steer, api.steer, ({ caller, raw, params, body }) =>
    steerView(steering.steerRun(caller, { agentId: params.id, ...body, ...idempotencyKeyIn(raw) })),
  )
  bind(endpoints.invoke, api.invoke, ({ caller, raw, params, body, reply }) => {
    const input = { kind: 'tool', tool: body.tool, params: body.params } as const
    const run = queue.submitRun(caller, { agentId: params.id, input, ...idempotencyKeyIn(raw) })
    return waited({ runId: run.id, caller }, reply)
  })
  bind(endpoints.runs, api.runs, ({ caller, query }) => lookUp.list(caller, query))
  bind(endpoints.run, api.run, ({ caller, params }) => lookUp.one(caller, params.id))
  bind(endpoints.runCancel, api.runCancel, ({ caller, params }) =>
    queries.view(lifecycle.cancelRun(caller, params.id)),
  )
  bind(endpoints.runRead, api.runRead, ({ caller, params }) => {
    outcomes.read(caller, params.id)
    return { read: true as const }
  })

  function waited(request: { readonly runId: string; readonly caller: Caller }, reply: FastifyReply) {
    return keptAliveReply(reply, keepAliveMs, awaitOutcome(outcomes, request, reply))
  }
}
