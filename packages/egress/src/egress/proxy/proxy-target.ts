import { Problem } from '@flotilla/protocol/problem'
import type { Destination } from '../policy/destination.ts'
import { destinationOf, parseHostAndPort } from '../policy/destination.ts'

/** Returns the destination of a CONNECT request. Throws the problem `bad-request`. Pure. */
export function readConnectTarget(target: string | undefined): Destination {
  const destination = parseHostAndPort(target ?? '')
  if (destination === null) throw badRequest('CONNECT requires host:port, such as example.com:443')
  return destination
}

export interface AbsoluteTarget {
  readonly destination: Destination
  readonly url: URL
}

/** Returns the destination of a request in absolute form. Throws the problem `bad-request`. Pure. */
export function readAbsoluteTarget(target: string | undefined): AbsoluteTarget {
  const text = target ?? ''
  if (/^https:/i.test(text)) throw badRequest('requests to https addresses must use CONNECT with this proxy')
  if (!/^http:\/\//i.test(text) || !URL.canParse(text)) {
    throw badRequest(
      'this is the forward proxy: use CONNECT host:port, or a full address such as http://example.com/',
    )
  }
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') throw badRequest('a user name in an address is refused')
  const destination = destinationOf(url)
  if (destination === null) throw badRequest('the address has no host')
  return { destination, url }
}

function badRequest(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
