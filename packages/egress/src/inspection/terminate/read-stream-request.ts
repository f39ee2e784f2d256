import { Problem } from '@flotilla/protocol/problem'
import type { Destination } from '../../egress/index.ts'
import { checkInnerRequest } from './check-inner-request.ts'
import { http2Limits, sizeOfFields } from './http2-limits.ts'

/** A request of an HTTP/2 stream, with its headers as HTTP/1.1 would have them: `Host` first. */
export interface StreamRequest {
  readonly method: string
  readonly path: string
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[]
}

/** Characters of a method and of a header's name, in lower case (RFC 9110, section 5.6.2). */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const pathForm = /^[\x21-\x7e]+$/
/** A value has no line end, no zero byte and no other control character. */
const valueForm = /^[\t\x20-\x7e\x80-\xff]*$/

const pseudoNames: readonly string[] = [':method', ':scheme', ':authority', ':path']
/** Headers about one connection, which HTTP/2 does not have (RFC 9113, section 8.2.2). */
const connectionHeaders: readonly string[] = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]

/**
 * Reads the headers of a stream, names and values in turn, as a request that can be parsed in one way only, also if it
 * is written as HTTP/1.1 later. Node's parser refuses most of what is refused here; this does not depend on it. Throws
 * the problems `bad-request` and `destination-refused`. Pure.
 */
export function readStreamRequest(raw: readonly string[], opened: Destination): StreamRequest {
  if (sizeOfFields(raw) > http2Limits.requestHeadersMaxBytes) {
    throw new Problem('body-too-large', {
      detail: `the headers are larger than ${http2Limits.requestHeadersMaxBytes} bytes`,
    })
  }
  const pseudo = new Map<string, string>()
  const headers: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]]
    if (!name.startsWith(':')) headers.push(name, value)
    else if (headers.length > 0) throw badRequest('a pseudo-header follows a header')
    else if (!pseudoNames.includes(name) || pseudo.has(name))
      throw badRequest(`the pseudo-header ${shown(name)} is not allowed, or occurs twice`)
    else pseudo.set(name, value)
  }
  const method = pseudo.get(':method') ?? ''
  const path = pseudo.get(':path') ?? ''
  if (!token.test(method) || method === 'CONNECT')
    throw badRequest('a request to an inspected host needs a method, and cannot open a tunnel')
  if (!pathForm.test(path)) throw badRequest('a request to an inspected host needs a path without spaces')
  if (pseudo.get(':scheme') !== 'https')
    throw badRequest('a request to an inspected host has the scheme https')
  const rawHeaders = withHost(headers, pseudo.get(':authority'))
  checkFields(rawHeaders)
  checkInnerRequest({ method, target: path, rawHeaders }, opened)
  return { method, path, rawHeaders }
}

/** Puts the host first; `:authority` and `Host` must be equal if a request has both. */
function withHost(headers: readonly string[], authority: string | undefined): readonly string[] {
  const kept: string[] = []
  const hosts = authority === undefined ? [] : [authority]
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]]
    if (name.toLowerCase() === 'host') hosts.push(value)
    else kept.push(name, value)
  }
  const [host] = hosts
  if (host === undefined || hosts.length > 2 || (hosts.length === 2 && authority === undefined))
    throw badRequest('a request must have one :authority or Host header')
  if (hosts.some((other) => other.toLowerCase() !== host.toLowerCase())) {
    throw new Problem('destination-refused', {
      detail: 'the request names one host in :authority and another in the Host header',
    })
  }
  return ['Host', host, ...kept]
}

function checkFields(headers: readonly string[]): void {
  let lengths = 0
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at]?.toLowerCase(), headers[at + 1]]
    if (!token.test(name) || !valueForm.test(value) || value !== value.trim())
      throw badRequest(`the header ${shown(name)} has characters that a header cannot have`)
    if (connectionHeaders.includes(name) || (name === 'te' && value.toLowerCase() !== 'trailers'))
      throw badRequest(`the header ${name} does not exist in HTTP/2`)
    if (name === 'content-length' && (++lengths > 1 || !/^\d+$/.test(value)))
      throw badRequest('a request can have one Content-Length, which is a number')
  }
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 50))
}

function badRequest(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
