import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import { eventsDroppedName } from '@flotilla/protocol/fleet-event'
import type { EventsDropped, FleetEvent } from '@flotilla/protocol/fleet-event'
import { headers } from '@flotilla/protocol/headers'
import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import { Problem } from '@flotilla/protocol/problem'
import type { RunInput, RunView } from '@flotilla/protocol/run'
import type { EventBus } from '../events/event-bus.ts'
import type { Caller } from '../access/caller.ts'
import { alreadySent, createBinder } from '../http/bind-endpoint.ts'
import { keptAliveReply } from '../http/kept-alive-reply.ts'
import { openEventStream } from '../http/server-sent-events.ts'
import type { EventStream } from '../http/server-sent-events.ts'
import type { HumanGate } from '../http/gates/people-gate.ts'
import { awaitOutcome, readWhenSent } from './delivery/run-outcome.ts'
import type { TellOutcome } from './delivery/run-outcome.ts'

type Answer<Name extends keyof typeof api> = (typeof api)[Name] extends {
  response: infer S extends z.core.$ZodType
}
  ? z.input<S> | Promise<z.input<S>>
  : never

export interface ListQuery {
  readonly agent?: string | undefined
  readonly limit: number
}

/** Use cases about runs and tasks. */
export interface RunUseCases extends TellOutcome {
  submit(caller: Caller, request: { agentId: string; input: RunInput; idempotencyKey?: string }): RunView
  /** In the conversation of that name, or in the caller's own. */
  chat(
    caller: Caller,
    request: { agentId: string; message: string; session?: string | undefined; idempotencyKey?: string },
  ): RunView
  steer(
    caller: Caller,
    request: { agentId: string; text: string; session?: string | undefined; idempotencyKey?: string },
  ): Answer<'steer'>
  runs(caller: Caller, query: ListQuery): Answer<'runs'>
  run(caller: Caller, id: string): Answer<'run'>
  cancelRun(caller: Caller, id: string): Answer<'runCancel'>
  tasks(caller: Caller, query: ListQuery): Answer<'tasks'>
  /** Throws where the caller may not listen. */
  allowEvents(caller: Caller): void
}

export interface RunRoutesDeps {
  readonly gate: HumanGate
  readonly use: RunUseCases
  readonly events: EventBus
  /** Silence after which an open stream gets a comment. */
  readonly keepAliveMs: number
}

/** Events handed over per step when a reader catches up: far fewer bytes than a reader may leave unread. */
const replayPageEvents = 100

export function runRoutes(scope: FastifyInstance, { gate, use, events, keepAliveMs }: RunRoutesDeps): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })

  bind(endpoints.chat, api.chat, async ({ raw, params, body, reply }) => {
    const caller = gate(raw)
    const run = use.chat(caller, { agentId: params['id'] ?? '', ...body, ...keyOf(raw) })
    if (!(raw.headers.accept ?? '').includes('text/event-stream'))
      return waited({ runId: run.id, caller }, reply)
    const stream = openEventStream(reply, keepAliveMs)
    for await (const frame of use.follow(run.id, stream.signal)) {
      if (frame.type === 'ended') readWhenSent(use, { runId: run.id, caller }, reply)
      stream.send(frame)
    }
    stream.end()
    return alreadySent
  })
  bind(endpoints.steer, api.steer, async ({ raw, params, body }) =>
    use.steer(gate(raw), { agentId: params['id'] ?? '', ...body, ...keyOf(raw) }),
  )
  bind(endpoints.invoke, api.invoke, async ({ raw, params, body, reply }) => {
    const run = submit(raw, params['id'] ?? '', { kind: 'tool', tool: body.tool, params: body.params })
    return waited({ runId: run.id, caller: gate(raw) }, reply)
  })
  bind(endpoints.runs, api.runs, async ({ raw, query }) => use.runs(gate(raw), query))
  bind(endpoints.run, api.run, async ({ raw, params }) => use.run(gate(raw), params['id'] ?? ''))
  bind(endpoints.runCancel, api.runCancel, async ({ raw, params }) =>
    use.cancelRun(gate(raw), params['id'] ?? ''),
  )
  bind(endpoints.runRead, api.runRead, async ({ raw, params }) => {
    use.outcomeRead(gate(raw), params['id'] ?? '')
    return { read: true as const }
  })
  bind(endpoints.tasks, api.tasks, async ({ raw, query }) => use.tasks(gate(raw), query))

  bind(endpoints.events, api.events, async ({ raw, query, reply }) => {
    use.allowEvents(gate(raw))
    const lastId = Number(raw.headers['last-event-id'])
    const stream = openEventStream(reply, keepAliveMs)
    await followEvents(events, Number.isInteger(lastId) ? lastId : query.since, stream)
    return alreadySent
  })

  function submit(raw: FastifyRequest, agentId: string, input: RunInput): RunView {
    return use.submit(gate(raw), { agentId, input, ...keyOf(raw) })
  }

  function waited(asked: { readonly runId: string; readonly caller: Caller }, reply: FastifyReply) {
    return keptAliveReply(reply, keepAliveMs, awaitOutcome(use, asked, reply))
  }
}

function keyOf(raw: FastifyRequest): { idempotencyKey?: string } {
  const key = raw.headers[headers.idempotencyKey]
  if (key === undefined) return {}
  if (typeof key === 'string' && key.length <= 200) return { idempotencyKey: key }
  throw new Problem('bad-request', { detail: `${headers.idempotencyKey} has at most 200 characters` })
}

/**
 * Replays what is kept as fast as the reader takes it, then goes on with what happens. Between the last page and that
 * nothing can fall; each number is sent once and in order. Pieces of streamed text are kept nowhere, so whoever still
 * catches up is not told them. What is no longer kept is said, before the first page and between pages.
 */
async function followEvents(events: EventBus, since: number, stream: EventStream): Promise<void> {
  // A number that was never given is of another home; waiting for it would be silence.
  let sent = Math.min(since, events.lastSeq())
  const deliver = (event: FleetEvent) => {
    if (event.seq <= sent) return
    sent = event.seq
    stream.send(event, { id: event.seq })
  }
  const tellDropped = () => {
    const until = events.droppedUntil()
    if (until <= sent) return
    const dropped: EventsDropped = { since: sent, dropped_until: until }
    stream.send(dropped, { id: until, event: eventsDroppedName })
    sent = until
  }
  for (;;) {
    tellDropped()
    const page = events.since(sent, replayPageEvents)
    page.forEach(deliver)
    if (page.length < replayPageEvents) break
    await stream.drained()
    if (stream.signal.aborted) return
  }
  const stop = events.subscribe(deliver)
  stream.signal.addEventListener('abort', stop, { once: true })
}
