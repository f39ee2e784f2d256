import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '@flotilla/protocol/clock'
import { headers } from '@flotilla/protocol/headers'
import { provedRoutes } from '@flotilla/protocol/owner-proof'
import { roleOfRoute } from '@flotilla/protocol/people-roles'
import { requireProof } from '../access/index.ts'
import type { Guard, HumanCaller } from '../access/index.ts'
import type { EffectOnce } from '@flotilla/foundation/effects'
import { createBinder } from './bind-endpoint.ts'
import type { CallShare } from './bind-endpoint.ts'
import { cutChangedPeople } from './cut-changed-people.ts'
import type { DownloadRoom } from './download-room.ts'
import { effectOnCall } from './effect-on-call.ts'
import type { AgentCaller, AgentGate } from './gates/agent-gate.ts'
import type { InternalGate } from './gates/internal-gate.ts'
import { isFromPage } from './from-page.ts'
import { requireOperatorOrInternal } from './gates/operator-gate.ts'
import type { KnownPeople } from './gates/known-people.ts'
import type { HumanGate } from './gates/people-gate.ts'
import type { AgentSurface, CallerOf, Routes, Surface } from './routes.ts'
import { readBody, takeBodies } from './take-bodies.ts'

/** What a server needs to register a module's routes behind their gates. */
export type Offered = readonly { readonly routes?: Routes }[]

/** Routes without authentication. */
export function openPublic(server: FastifyInstance, modules: Offered): void {
  offer({ server, modules }, 'public', (scope, open) => open({ scope, bind: createBinder(scope) }))
}

export interface PeopleSurface {
  readonly gate: HumanGate
  /** Checks the role of the route. The use case checks again, including the agent. */
  readonly guard: Guard
  readonly people: Pick<KnownPeople, 'onChange' | 'isProven'>
  readonly keepAliveMs: number
  /** Shared by the whole people's API, because its limits are per person. */
  readonly downloads: DownloadRoom
  readonly clock: Clock
}

export function openPeople(
  server: FastifyInstance,
  modules: Offered,
  { gate, guard, people, keepAliveMs, downloads, clock }: PeopleSurface,
): void {
  const opened = cutChangedPeople({ gate, people, clock })
  const admit: CallerOf<HumanCaller> = (request) => {
    const caller = atPage(gate(request), request, people)
    const route = request.routeOptions.config.route ?? ''
    guard(caller, { do: 'call-route', role: roleOfRoute(route) })
    if (provedRoutes.has(route)) requireProof(caller, 'do this')
    return caller
  }
  offer({ server, modules }, 'people', (scope, open) => {
    // Runs before the body is read: a refused caller learns nothing about the expected request.
    scope.addHook('onRequest', async (request, reply) => {
      admit(request)
      opened(request, reply)
    })
    open({ ...bindingFor(scope, admit), keepAliveMs, downloads })
  })
}

/** Adds to a caller whether the browser's page sent a valid owner's proof. */
function atPage(
  caller: HumanCaller,
  request: FastifyRequest,
  people: Pick<KnownPeople, 'isProven'>,
): HumanCaller {
  if (!isFromPage(request)) return caller
  const proof = request.headers[headers.ownerProof]
  const isProved = typeof proof === 'string' && people.isProven(proof, caller.person ?? null)
  return { ...caller, page: isProved ? 'proved' : 'unproved' }
}

export function openInternal(server: FastifyInstance, modules: Offered, gate: InternalGate): void {
  offer({ server, modules }, 'internal', (scope, open) => open(surfaceFor(scope, gate)))
  offer({ server, modules }, 'operatorOrInternal', (scope, open) =>
    open(surfaceFor(scope, (request) => requireOperatorOrInternal(gate(request)))),
  )
}

/** Registers all routes for agents: their own calls, the operator's, and the model gateway. */
export function openAgents(
  server: FastifyInstance,
  modules: Offered,
  { gate, effects }: { readonly gate: AgentGate; readonly effects: EffectOnce },
): void {
  takeBodies(server, gate, readBody)
  const operator = (request: FastifyRequest): AgentCaller => {
    const caller = gate.doorTokenOnly(request)
    requireOperatorOrInternal(caller)
    return caller
  }
  offer({ server, modules }, 'agent', (scope, open) => {
    scope.addHook('onRequest', gate.admitDoorToken)
    open(withEffects(scope, gate.doorTokenOnly, { gate, effects }))
  })
  offer({ server, modules }, 'operator', (scope, open) => {
    scope.addHook('onRequest', gate.admitDoorToken)
    // The mesh reads no body of a caller that is not the operator.
    scope.addHook('onRequest', async (request) => void operator(request))
    open(withEffects(scope, operator, { gate, effects }))
  })
  offer({ server, modules }, 'operatorOrInternal', (scope, open) => {
    scope.addHook('onRequest', gate.admitDoorToken)
    open(bindingFor(scope, (request) => requireOperatorOrInternal(gate.doorTokenOnly(request)), gate))
  })
  offer({ server, modules }, 'models', (scope, open) => {
    scope.addHook('onRequest', gate.admitToModels)
    open({ ...bindingFor(scope, gate.modelSurface, gate), gate })
  })
}

/** Registers each module's routes in a scope of their own, so that its hooks do not affect other modules' routes. */
function offer<Name extends keyof Routes>(
  { server, modules }: { readonly server: FastifyInstance; readonly modules: Offered },
  name: Name,
  put: (scope: FastifyInstance, open: NonNullable<Routes[Name]>) => void,
): void {
  for (const { routes } of modules) {
    const open = routes?.[name]
    if (open) server.register(async (scope) => put(scope, open))
  }
}

function surfaceFor<Who>(scope: FastifyInstance, callerOf: CallerOf<Who>): Surface<Who> {
  // Runs before the body is read: a refused caller learns nothing about the expected request.
  scope.addHook('onRequest', async (request) => void callerOf(request))
  return bindingFor(scope, callerOf)
}

function bindingFor<Who>(scope: FastifyInstance, callerOf: CallerOf<Who>, share?: CallShare): Surface<Who> {
  const bind = createBinder(scope, share)
  return {
    scope,
    bind: (endpoint, schemas, handler) =>
      bind(endpoint, schemas, (request) => handler({ ...request, caller: callerOf(request.raw) })),
  }
}

function withEffects(
  scope: FastifyInstance,
  callerOf: CallerOf<AgentCaller>,
  { gate, effects }: { readonly gate: AgentGate; readonly effects: EffectOnce },
): AgentSurface {
  const bind = createBinder(scope, gate)
  return {
    scope,
    bind: (endpoint, schemas, handler) =>
      bind(endpoint, schemas, (request) => {
        const { raw } = request
        const caller = callerOf(raw)
        return handler({
          ...request,
          caller,
          effect: (body) => effectOnCall(effects, { caller, raw, request: body }),
        })
      }),
  }
}
