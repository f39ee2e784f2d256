import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import type { PeopleRoute } from '@flotilla/protocol/people-roles'
import type { Caller } from '../access/index.ts'
import type { BindOptions, BoundRequest, Handled } from './bind-endpoint.ts'
import type { DownloadRoom } from './download-room.ts'
import type { EffectOnCall } from './effect-on-call.ts'
import type { AgentCaller, AgentGate } from './gates/agent-gate.ts'

/**
 * The routes of a module, by the kind of caller. Each surface has its gate before every route, before a body
 * is read.
 */
export interface Routes {
  /** Routes for any client, without a gate: the route itself authenticates the requests. */
  readonly public?: (surface: PublicSurface) => void
  readonly people?: (surface: PeopleSurface) => void
  /** Agents by their agent token, with their current run. */
  readonly agent?: (surface: AgentSurface) => void
  /** The operator alone, as an agent. */
  readonly operator?: (surface: AgentSurface) => void
  /** The operator, and the owner's programs on this machine. */
  readonly operatorOrInternal?: (surface: Surface<Caller>) => void
  /** The owner's programs on this machine. */
  readonly internal?: (surface: Surface<Caller>) => void
  /** The API for OpenAI's and Anthropic's clients in a container. */
  readonly models?: (surface: ModelSurface) => void
}

/** A request that the gate of its surface has authenticated. */
export type AdmittedRequest<E extends Endpoint, Schemas extends BindOptions, Who> = BoundRequest<
  E,
  Schemas
> & { readonly caller: Who }

/** Binds one endpoint. The use case that `handler` calls checks the caller's permission. */
export type Bind<Who, More = unknown> = <E extends Endpoint, const Schemas extends BindOptions>(
  endpoint: E,
  schemas: Schemas,
  handler: (request: AdmittedRequest<E, Schemas, Who> & More) => Handled<Schemas>,
) => void

export interface Surface<Who, More = unknown> {
  readonly bind: Bind<Who, More>
  /**
   * For module-specific needs besides routes: a body parser, a response header. It applies only to the
   * module's routes.
   */
  readonly scope: FastifyInstance
}

export interface PublicSurface {
  readonly bind: <E extends Endpoint, const Schemas extends BindOptions>(
    endpoint: E,
    schemas: Schemas,
    handler: (request: BoundRequest<E, Schemas>) => Handled<Schemas>,
  ) => void
  readonly scope: FastifyInstance
}

/** A type error if `people-roles.ts` has no row for the route. */
type Stated<E extends Endpoint> = `${E['method']} ${E['path']}` extends PeopleRoute
  ? unknown
  : { readonly peopleRolesHasNoRowFor: `${E['method']} ${E['path']}` }

/** Each route states its minimum role, in the protocol's `people-roles.ts`. */
export interface PeopleSurface {
  readonly bind: <E extends Endpoint, const Schemas extends BindOptions>(
    endpoint: E & Stated<E>,
    schemas: Schemas,
    handler: (request: AdmittedRequest<E, Schemas, Caller>) => Handled<Schemas>,
  ) => void
  readonly scope: FastifyInstance
  /** How long an open response may be silent before a keep-alive is sent. */
  readonly keepAliveMs: number
  /** Slots for responses that are buffered in the mesh while a person downloads them. */
  readonly downloads: DownloadRoom
}

/** For calls with an effect, `effect` reads the key from the headers; `request` must be equal in a repeated call. */
export type AgentSurface = Surface<AgentCaller, { effect(request: unknown): EffectOnCall }>

/** Clients are authenticated by agent or program tokens; see `AgentGate.modelSurface`. */
export interface ModelSurface extends Surface<AgentCaller> {
  readonly gate: Pick<AgentGate, 'hold' | 'keep' | 'spend' | 'turn'>
}

/** Authenticates a request and returns its caller. */
export type CallerOf<Who> = (request: FastifyRequest) => Who
