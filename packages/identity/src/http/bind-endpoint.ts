import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Endpoint, EndpointSchemas } from '@flotilla/protocol/endpoint'
import { Problem } from '@flotilla/protocol/problem'
import type { Action } from '../access/index.ts'
import { endingAtFirst } from '@flotilla/foundation/intake'
import { clientGone } from './client-gone.ts'

type Parsed<Schema> = Schema extends z.core.$ZodType ? z.output<Schema> : undefined
type Sent<Schema> = Schema extends z.core.$ZodType ? Readable<z.input<Schema>> : unknown
/** A read-only type of a response: rows and views are sent without a copy. */
type Readable<T> = T extends readonly (infer Item)[]
  ? readonly Readable<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Readable<T[Key]> }
    : T
type Answer<Schemas extends EndpointSchemas> = Sent<Schemas['response']> | typeof alreadySent
/** The return value of a handler: the answer, or `alreadySent` if the handler has written the reply itself. */
export type Handled<Schemas extends EndpointSchemas> = Answer<Schemas> | Promise<Answer<Schemas>>

/** The names in the braces of a path. */
type PathParams<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Readonly<Record<Name extends `*${infer Tail}` ? Tail : Name, string>> & PathParams<Rest>
  : unknown

export interface BoundRequest<E extends Endpoint, Schemas extends EndpointSchemas> {
  readonly params: PathParams<E['path']>
  readonly query: Parsed<Schemas['query']>
  readonly body: Parsed<Schemas['request']>
  readonly raw: FastifyRequest
  readonly reply: FastifyReply
  /** Returns a signal that aborts when the client disconnects before it got the response. */
  gone(): AbortSignal
}

/** Schemas of the endpoint, and properties that are known before the body is read. */
export interface BindOptions extends EndpointSchemas {
  /** The endpoint's own body limit, if it differs from the surface's. */
  readonly bodyMaxBytes?: number
  /**
   * The action that the call needs, if method and path determine it. It is the same action that the use case
   * checks, so a call that would be refused has no body read.
   */
  readonly needs?: (params: Readonly<Record<string, string>>) => Action
}

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly needs?: BindOptions['needs']
    /** The route in the protocol's notation: `METHOD /path/{with}/{*braces}`. */
    readonly route?: string
  }
}

/** Returned by handlers that have written the reply themselves (streams, files). */
export const alreadySent = Symbol('already sent')

/**
 * The share of the event loop that a call is charged to; `turn` is awaited before the work, null if there is
 * no wait.
 */
export interface CallShare {
  spend<T>(raw: FastifyRequest, work: () => T): T
  turn(raw: FastifyRequest): Promise<void> | null
}

const plainly: CallShare = { spend: (_raw, work) => work(), turn: () => null }

/**
 * Binds an endpoint of the protocol: parses query and body by its schemas, rejects invalid input, and sends
 * the handler's result. Path braces become Fastify parameters; `{*x}` takes the rest with its slashes. The
 * handler's first steps and the serialization of its answer are charged to `share`.
 */
export function createBinder(scope: FastifyInstance, share: CallShare = plainly) {
  return function bind<E extends Endpoint, const Schemas extends BindOptions>(
    endpoint: E,
    schemas: Schemas,
    handler: (request: BoundRequest<E, Schemas>) => Handled<Schemas>,
  ): void {
    const rest = /\{\*(\w+)\}/.exec(endpoint.path)?.[1]
    const url = endpoint.path.replace(/\{\*\w+\}/, '*').replace(/\{(\w+)\}/g, ':$1')
    const { needs } = schemas
    const namedParams = (params: Readonly<Record<string, string>>) =>
      rest === undefined ? params : { ...params, [rest]: params['*'] ?? '' }
    const [query, request] = [schemas.query, schemas.request].map((one) => one && endingAtFirst(one))
    scope.route({
      method: endpoint.method,
      url,
      ...(schemas.bodyMaxBytes ? { bodyLimit: schemas.bodyMaxBytes } : {}),
      config: {
        route: `${endpoint.method} ${endpoint.path}`,
        ...(needs ? { needs: (raw) => needs(namedParams(raw)) } : {}),
      },
      handler: async (raw, reply) => {
        const params = namedParams(raw.params as Record<string, string>)
        const turn = share.turn(raw)
        if (turn !== null) await turn
        const result = await share.spend(raw, () =>
          handler({
            params: params as PathParams<E['path']>,
            query: parse(query, raw.query, 'query') as Parsed<Schemas['query']>,
            body: parse(request, raw.body, 'body') as Parsed<Schemas['request']>,
            raw,
            reply,
            gone: () => clientGone(reply),
          }),
        )
        if (result === alreadySent) return reply
        if (!isRecord(result)) return reply.send(result)
        const printingTurn = share.turn(raw)
        if (printingTurn !== null) await printingTurn
        void reply.type('application/json; charset=utf-8')
        share.spend(raw, () => reply.send(JSON.stringify(result)))
        return reply
      },
    })
  }
}

/** Whether the result is sent as JSON: bytes and streams are sent unchanged. */
function isRecord(result: unknown): result is object {
  if (typeof result !== 'object' || result === null) return false
  const prototype: unknown = Object.getPrototypeOf(result)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}

/** The maximum length of an issue's text: an issue names all unknown fields, of which there may be thousands. */
const issueMaxChars = 500

function parse(schema: z.core.$ZodType | undefined, value: unknown, where: string): unknown {
  if (!schema) return undefined
  const parsed = z.safeParse(schema, value ?? {})
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.slice(0, 5).map((issue) => {
    const path = [where, ...issue.path.map(String)].join('.')
    return `${path}: ${issue.message || 'the request does not have the expected form'}`.slice(
      0,
      issueMaxChars,
    )
  })
  throw new Problem('bad-request', { detail: issues.join('; ') })
}
