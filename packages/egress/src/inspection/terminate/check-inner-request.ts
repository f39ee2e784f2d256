import { Problem } from '@flotilla/protocol/problem'
import { parseHostAndPort, textOf } from '../../egress/index.ts'
import type { Destination } from '../../egress/index.ts'

/** The maximum length of the path and query of a request to an inspected host, in characters. */
const targetMaxChars = 8192

/** A request as Node parsed it inside an inspected connection. */
export interface InnerRequest {
  readonly method: string
  readonly target: string
  readonly rawHeaders: readonly string[]
}

/**
 * Checks that a request inside an inspected connection is for the host that the connection was opened to, and that it
 * can be parsed in one way only. Throws the problems `bad-request` and `destination-refused`. Pure.
 */
export function checkInnerRequest({ method, target, rawHeaders }: InnerRequest, opened: Destination): void {
  const isPath = target.startsWith('/') || (method === 'OPTIONS' && target === '*')
  if (!isPath) {
    throw badRequest(
      'a request inside an inspected connection must name a path; the host is that of the connection',
    )
  }
  if (target.length > targetMaxChars) {
    throw badRequest(`the path of a request to an inspected host has at most ${targetMaxChars} characters`)
  }
  // A server may cut the path at the fragment, so that it would serve another path than the one that was decided.
  if (target.includes('#')) throw badRequest('the path of a request cannot have a fragment')
  // The server would repeat the request's headers, and with them a credential, in a body of any form.
  if (method === 'TRACE') throw badRequest('the method TRACE is refused for an inspected host')
  const hosts = valuesOf(rawHeaders, 'host')
  const [host] = hosts
  if (host === undefined || hosts.length > 1) throw badRequest('a request must have one Host header')
  if (!namesDestination(host, opened)) {
    throw new Problem('destination-refused', {
      detail: `the request names another host than the connection, which was opened to ${textOf(opened)}`,
      repair: 'Open a connection for each host; this connection carries requests to its own host only.',
    })
  }
  const encodings = valuesOf(rawHeaders, 'transfer-encoding')
  if (encodings.length > 1 || !encodings.every((value) => value.trim().toLowerCase() === 'chunked')) {
    throw badRequest('the only transfer encoding of a request to an inspected host is chunked')
  }
  if (encodings.length > 0 && valuesOf(rawHeaders, 'content-length').length > 0) {
    throw badRequest('a request cannot have both Content-Length and Transfer-Encoding')
  }
}

/** True if a Host header names this host and port. Without a port, it names 443. */
function namesDestination(host: string, { host: name, port }: Destination): boolean {
  const text = /:\d+$/.test(host) ? host : `${host}:443`
  const named = parseHostAndPort(text)
  return named !== null && named.host === name && named.port === port
}

/** The values of a header, by its lower-case name. */
function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  const values: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '')
  }
  return values
}

function badRequest(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
