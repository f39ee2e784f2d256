import { request as requestPlain } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { request as requestTls } from 'node:https'
import { pipeline, Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { httpAgentThrough } from '@flotilla/foundation/platform'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { mayRead } from './registry-table.ts'
import type { RegistryOrigin, RegistryTable } from './registry-table.ts'

const mb = 1024 * 1024
/** A registry that sends nothing for this time ends its request, in milliseconds. */
const silenceMaxMs = 60_000
/** The time limit of one request, in milliseconds: a package of 2 GB at 2 MB/s takes 17 minutes. */
const requestMaxMs = 20 * 60_000
/** The maximum size of one answer, in bytes. */
const answerMaxBytes = 4096 * mb
/** The maximum size of all answers of one build, in bytes. */
export const buildMaxBytes = 8192 * mb
/** The maximum size of a page of an index, whose addresses are replaced, in bytes; the largest public one has 30 MB. */
const pageMaxBytes = 64 * mb

/** Request headers that registries get. Programs cannot choose credentials, cookies or the host. */
const passedOn = ['accept', 'user-agent', 'range', 'if-range', 'if-none-match', 'if-modified-since'] as const
/** Answer headers that package managers get. */
const passedBack = [
  'content-type',
  'content-encoding',
  'content-length',
  'content-range',
  'accept-ranges',
  'etag',
  'last-modified',
  'cache-control',
  'expires',
  'date',
  'retry-after',
  'x-pypi-last-serial',
] as const

export interface Forwarder {
  /** Answers a request of a package manager with what its registry answers. Never throws. */
  forward(asked: IncomingMessage, reply: ServerResponse): void
  /** Returns whether all answers together were larger than `maxBytes`. */
  isFull(): boolean
  /** Ends all connections to registries. */
  close(): void
}

export function createForwarder(options: {
  readonly registries: Pick<RegistryTable, 'byLocal' | 'toLocal' | 'authorizationFor' | 'localize'>
  readonly proxies: OutboundProxies
  /** Called with each destination that is refused. */
  readonly refuse: (target: string) => void
  /** Called with the registry and the reason when it does not answer, or says that it cannot answer now. */
  readonly lost: (why: string) => void
  /** The maximum size of all answers of one build, in bytes. */
  readonly maxBytes: number
}): Forwarder {
  const { registries, proxies, refuse, lost, maxBytes: allMaxBytes } = options
  const agents = {
    'http:': httpAgentThrough(proxies, 'http:', { keepAlive: true }),
    'https:': httpAgentThrough(proxies, 'https:', { keepAlive: true }),
  }
  const sent = { bytes: 0 }

  function answerWith(reply: ServerResponse, status: number, words = ''): void {
    if (reply.destroyed) return
    if (reply.headersSent) reply.destroy()
    else reply.writeHead(status, { 'content-type': 'text/plain' }).end(words)
  }

  function forward(asked: IncomingMessage, reply: ServerResponse): void {
    const from = registries.byLocal(asked.headers.host ?? '')
    const url = from === null ? null : addressOf(from, asked.url ?? '')
    if (from === null || url === null || (asked.method !== 'GET' && asked.method !== 'HEAD')) {
      refuse(hostOf(asked.url ?? '') ?? asked.headers.host ?? '')
      return answerWith(reply, 403, 'Only the package registries of this machine can be read.\n')
    }
    const isTls = url.protocol === 'https:'
    const isPage = from.bases.some(({ kind }) => kind === 'pip')
    const upstream = (isTls ? requestTls : requestPlain)(url, {
      method: asked.method,
      agent: agents[isTls ? 'https:' : 'http:'],
      headers: {
        ...picked(asked.headers, passedOn),
        // The addresses in a page are replaced, so it must come as plain text.
        'accept-encoding': isPage ? 'identity' : (asked.headers['accept-encoding'] ?? 'identity'),
        ...authorized(registries.authorizationFor(url)),
      },
      signal: AbortSignal.timeout(requestMaxMs),
    })
    upstream.setTimeout(silenceMaxMs, () => upstream.destroy(new Error('the registry sends nothing')))
    const fail = (error: unknown): void => {
      // A package manager that goes away ends the request to the registry; that is no failure of the registry.
      if (reply.destroyed) return
      const why = `${from.origin}: ${error instanceof Error ? error.message : 'failed'}`
      lost(why)
      answerWith(reply, 502, `${why}\n`)
    }
    upstream.on('error', fail)
    upstream.on('upgrade', (_answer, socket) => socket.destroy())
    upstream.on('response', (answer) => {
      const status = answer.statusCode ?? 502
      if (status >= 500 || status === 429) lost(`${from.origin}: answers with ${status}`)
      answer.on('error', fail)
      passBack({ url, answer, reply, isPage }).catch((error: unknown) => {
        answer.destroy()
        fail(error)
      })
    })
    reply.on('error', () => upstream.destroy())
    reply.on('close', () => upstream.destroy())
    upstream.end()
  }

  async function passBack(of: {
    readonly url: URL
    readonly answer: IncomingMessage
    readonly reply: ServerResponse
    readonly isPage: boolean
  }): Promise<void> {
    const { url, answer, reply, isPage } = of
    const headers: OutgoingHttpHeaders = picked(answer.headers, passedBack)
    const status = answer.statusCode ?? 502
    const { location } = answer.headers
    if (location !== undefined) {
      const target = URL.canParse(location, url.href) ? new URL(location, url.href) : null
      const local = target === null ? null : registries.toLocal(target.href)
      if (local === null) {
        answer.destroy()
        if (target !== null) refuse(destinationOf(target))
        return answerWith(reply, 403, `The registry names ${target?.host ?? 'an address'}, another host.\n`)
      }
      headers['location'] = local
    }
    if (isPage && /html|json/.test(answer.headers['content-type'] ?? '')) {
      if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity')
        throw new Error('the registry compressed a page that was asked for as plain text')
      const page = registries.localize((await buffer(bounded(answer, pageMaxBytes))).toString('utf8'))
      if (reply.destroyed) return
      reply.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(page) }).end(page)
      return
    }
    reply.writeHead(status, headers)
    pipeline(bounded(answer, answerMaxBytes), reply, () => undefined)
  }

  /** Returns the bytes of an answer; fails if it, or all answers of the build together, are too large. */
  function bounded(answer: IncomingMessage, maxBytes: number): Transform {
    let own = 0
    const count = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        own += chunk.length
        sent.bytes += chunk.length
        if (own > maxBytes || sent.bytes > allMaxBytes) done(new Error('the answer is too large'))
        else done(null, chunk)
      },
    })
    return pipeline(answer, count, () => undefined)
  }

  return {
    forward: (asked, reply) => {
      try {
        forward(asked, reply)
      } catch {
        answerWith(reply, 400)
      }
    },
    isFull: () => sent.bytes > allMaxBytes,
    close: () => {
      agents['http:'].destroy()
      agents['https:'].destroy()
    },
  }
}

/** Returns the address at the registry; null if the path is not one that may be read. */
function addressOf(from: RegistryOrigin, target: string): URL | null {
  if (!target.startsWith('/') || !URL.canParse(`${from.origin}${target}`)) return null
  const url = new URL(`${from.origin}${target}`)
  return url.origin === from.origin && mayRead(from, url.pathname) ? url : null
}

function hostOf(target: string): string | null {
  return URL.canParse(target) ? destinationOf(new URL(target)) : null
}

function destinationOf({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`
}

function authorized(authorization: string | null): OutgoingHttpHeaders {
  return authorization === null ? {} : { authorization }
}

function picked(headers: IncomingHttpHeaders, names: readonly string[]): OutgoingHttpHeaders {
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  )
}
