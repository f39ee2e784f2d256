import { fillPath } from '@flotilla/protocol/endpoint'
import type { EndpointSchemas } from '@flotilla/protocol/endpoint'
import { headers as headerNames, sessionCookieName } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { MeshFetch, MeshReply } from './mesh-reply.ts'
import { peopleApi, peopleEndpoints } from './people-api.ts'
import type { PeopleEndpointName } from './people-api.ts'
import { replyProblem } from './reply-problem.ts'
import { meshUnreachable } from './unreachable.ts'

type Api = typeof peopleApi

/** What an endpoint answers, as its schema says; `unknown` where the reply is bytes. */
export type Reply<N extends PeopleEndpointName> = Api[N] extends {
  readonly response: { readonly _zod: { readonly output: infer Output } }
}
  ? Output
  : unknown

type Input<N extends PeopleEndpointName, Part extends 'request' | 'query'> =
  Api[N] extends Record<Part, { readonly _zod: { readonly input: infer In } }> ? In : never

export interface CallParts<N extends PeopleEndpointName> {
  /** Values for the path's parameters, which the path names in braces. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Input<N, 'query'>
  readonly body?: Input<N, 'request'>
  /** Raw bytes instead of a JSON body. */
  readonly bytes?: Uint8Array<ArrayBuffer>
  readonly accept?: string
  readonly idempotencyKey?: string
  /** True if the caller confirms with `runRead` that it showed the outcome; else receiving the reply counts. */
  readonly confirmsRead?: boolean
  readonly signal?: AbortSignal | undefined
}

export interface MeshConnection {
  /** The address of the mesh without a slash at the end, e.g. `http://127.0.0.1:8420`. */
  readonly baseUrl: string
  readonly fetch: MeshFetch
  /** Value of the session cookie, for a hosted mesh. */
  readonly cookie?: string | undefined
  /** A personal token. */
  readonly token?: string | undefined
  readonly userAgent?: string | undefined
  /** The name of the sending program in writes, where no `User-Agent` can be set. */
  readonly requestedWith?: string | undefined
  /** The owner's proof that the page currently has. */
  readonly proof?: (() => string | undefined) | undefined
  /** The home that the caller intends to reach; the mesh of another home rejects the call. */
  readonly home?: MeantHome | undefined
}

export interface MeantHome {
  readonly id: string
  readonly folder: string
}

/** Sends one call. Rejects with a Problem if no mesh answers or the answer is an error; an abort keeps its reason. */
export async function sendCall<N extends PeopleEndpointName>(
  connection: MeshConnection,
  name: N,
  parts: CallParts<N>,
): Promise<MeshReply> {
  const endpoint = peopleEndpoints[name]
  const url = new URL(connection.baseUrl + fillPath(endpoint.path, parts.params ?? {}))
  for (const [key, value] of Object.entries(parts.query ?? {})) {
    if (typeof value === 'string' || typeof value === 'number') url.searchParams.set(key, `${value}`)
  }
  const reply = await reach(
    connection,
    () =>
      connection.fetch(url, {
        method: endpoint.method,
        headers: headersOf(connection, endpoint.method, parts),
        redirect: 'error',
        ...(parts.bytes === undefined ? {} : { body: parts.bytes }),
        ...(parts.body === undefined ? {} : { body: JSON.stringify(parts.body) }),
        ...(parts.signal === undefined ? {} : { signal: parts.signal }),
      }),
    parts.signal,
  )
  if (reply.ok || carriesReply(name, reply)) return reply
  throw inWords(connection, replyProblem(reply, await reach(connection, () => reply.text(), parts.signal)))
}

/** Names the caller's home in a `wrong-home` problem, because the mesh knows only the folder of its own home. */
function inWords({ home, baseUrl }: MeshConnection, problem: Problem): Problem {
  if (problem.code !== 'wrong-home' || home === undefined) return problem
  const { home: other } = problem.extra
  const whose = typeof other === 'string' ? other : 'another home'
  return new Problem('wrong-home', {
    detail: `The command is for the home ${home.folder}, but the mesh on ${baseUrl} has the home ${whose}; nothing was done.`,
    extra: {
      ...problem.extra,
      repair: `To use that mesh: --home ${whose}. To start the mesh of your home on another port: flotilla start -d --home ${home.folder} --port PORT.`,
    },
  })
}

/** Reads a JSON reply through the schema of its endpoint. */
export async function readReply<N extends PeopleEndpointName>(
  connection: MeshConnection,
  reply: { readonly of: N; readonly response: MeshReply },
  signal?: AbortSignal,
): Promise<Reply<N>> {
  const text = await reach(connection, () => reply.response.text(), signal)
  return parseReply(reply.of, parseJson(text))
}

/** Runs work that needs the connection; a connection error becomes a Problem, an abort keeps its reason. */
export async function reach<T>(
  connection: MeshConnection,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof Problem) throw error
    throw meshUnreachable(connection.baseUrl, error)
  }
}

/** Returns the problem for a reply of an unknown form: mesh and client have different versions. */
export function versionMismatch(what: string, detail: string): Problem {
  return new Problem('upstream-failed', {
    detail: `The mesh sent ${what} that this version does not understand: ${detail}`,
    repair: 'Restart the mesh with this version of Flotilla: flotilla stop, then flotilla start -d.',
  })
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw versionMismatch('a reply', 'the reply is not JSON')
  }
}

function parseReply<N extends PeopleEndpointName>(name: N, value: unknown): Reply<N> {
  const schemas: EndpointSchemas = peopleApi[name]
  const schema = schemas.response
  if (schema === undefined) return value as Reply<N>
  const result = schema._zod.run({ value, issues: [] }, { async: false })
  if (result instanceof Promise) throw new Error('reply schemas are synchronous')
  if (result.issues.length === 0) return result.value as Reply<N>
  const first = result.issues[0]
  throw versionMismatch(
    `a reply of ${name}`,
    `${(first?.path ?? []).join('.') || 'body'}: ${first?.message ?? first?.code ?? 'wrong'}`,
  )
}

/** True for a 503 of `readyz` with a JSON body, which describes a mesh that is not ready and is no error. */
function carriesReply(name: PeopleEndpointName, reply: MeshReply): boolean {
  return (
    name === 'readyz' &&
    reply.status === 503 &&
    (reply.headers.get('content-type') ?? '').startsWith('application/json')
  )
}

function headersOf<N extends PeopleEndpointName>(
  connection: MeshConnection,
  method: string,
  parts: CallParts<N>,
): Record<string, string> {
  const proof = method === 'GET' ? undefined : connection.proof?.()
  return {
    ...(proof === undefined ? {} : { [headerNames.ownerProof]: proof }),
    accept: parts.accept ?? 'application/json',
    ...(method === 'GET' ? {} : { [headerNames.requestedWith]: connection.requestedWith ?? 'flotilla' }),
    ...(parts.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(parts.bytes === undefined ? {} : { 'content-type': 'application/octet-stream' }),
    ...(parts.idempotencyKey === undefined ? {} : { [headerNames.idempotencyKey]: parts.idempotencyKey }),
    ...(parts.confirmsRead === true ? { [headerNames.confirmsRead]: '1' } : {}),
    ...(connection.home === undefined ? {} : { [headerNames.home]: connection.home.id }),
    ...(connection.userAgent === undefined ? {} : { 'user-agent': connection.userAgent }),
    ...(connection.token === undefined ? {} : { authorization: `Bearer ${connection.token}` }),
    ...(connection.cookie === undefined ? {} : { cookie: `${sessionCookieName}=${connection.cookie}` }),
  }
}
