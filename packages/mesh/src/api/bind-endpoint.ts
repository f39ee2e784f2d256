import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Endpoint, EndpointSchemas } from '@flotilla/protocol/endpoint'
import { Problem } from '@flotilla/protocol/problem'
import { endingAtFirst } from '../intake/parse-first.ts'

type Parsed<Schema> = Schema extends z.core.$ZodType ? z.output<Schema> : undefined
type Sent<Schema> = Schema extends z.core.$ZodType ? z.input<Schema> : unknown

export interface BoundRequest<Schemas extends EndpointSchemas> {
  readonly params: Readonly<Record<string, string>>
  readonly query: Parsed<Schemas['query']>
  readonly body: Parsed<Schemas['request']>
  readonly raw: FastifyRequest
  readonly reply: FastifyReply
}

/** Schemas of the endpoint, and its own bound on the body where it differs from the door's. */
export interface BindOptions extends EndpointSchemas {
  readonly bodyMaxBytes?: number
}

/** Returned by handlers that have written the reply themselves (streams, files). */
export const alreadySent = Symbol('already sent')

type Spend = <T>(raw: FastifyRequest, work: () => T) => T

const plainly: Spend = (_raw, work) => work()

/**
 * Binds an endpoint of the protocol: parses query and body by its schemas and refuses what does not fit, then
 * sends what the handler returns. Path braces become Fastify parameters; `{*x}` takes the rest with its slashes. What
 * is done at once, the handler's first steps too, is done by `spend`.
 */
export function createBinder(scope: FastifyInstance, spend: Spend = plainly) {
  return function bind<Schemas extends BindOptions>(
    endpoint: Endpoint,
    schemas: Schemas,
    handler: (request: BoundRequest<Schemas>) => Promise<Sent<Schemas['response']> | typeof alreadySent>,
  ): void {
    const rest = /\{\*(\w+)\}/.exec(endpoint.path)?.[1]
    const url = endpoint.path.replace(/\{\*\w+\}/, '*').replace(/\{(\w+)\}/g, ':$1')
    const [query, request] = [schemas.query, schemas.request].map((one) => one && endingAtFirst(one))
    scope.route({
      method: endpoint.method,
      url,
      ...(schemas.bodyMaxBytes ? { bodyLimit: schemas.bodyMaxBytes } : {}),
      handler: async (raw, reply) => {
        const params = { ...(raw.params as Record<string, string>) }
        if (rest !== undefined) params[rest] = params['*'] ?? ''
        const result = await spend(raw, () =>
          handler({
            params,
            query: parse(query, raw.query, 'query') as Parsed<Schemas['query']>,
            body: parse(request, raw.body, 'body') as Parsed<Schemas['request']>,
            raw,
            reply,
          }),
        )
        return result === alreadySent ? reply : reply.send(result)
      },
    })
  }
}

export type Bind = ReturnType<typeof createBinder>

/** An issue names all fields that are unknown, and there may be thousands. */
const issueMaxChars = 500

function parse(schema: z.core.$ZodType | undefined, value: unknown, where: string): unknown {
  if (!schema) return undefined
  const parsed = z.safeParse(schema, value ?? {})
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.slice(0, 5).map((issue) => {
    const path = [where, ...issue.path.map(String)].join('.')
    return `${path}: ${issue.message || 'not of the expected form'}`.slice(0, issueMaxChars)
  })
  throw new Problem('bad-request', { detail: issues.join('; ') })
}
