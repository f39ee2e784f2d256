import type { FastifyRequest } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../../policy/caller.ts'
import { isForwarded, isLoopbackAddress, isOwnHost } from '../loopback.ts'

/** This machine's own programs: a loopback source and the marker header, both, and no proxy in between. */
export function internalGate(request: FastifyRequest): Caller {
  const marked = request.headers[headers.meshInternal] === '1'
  const direct =
    !isForwarded(request.headers) && isOwnHost(request.headers.host, request.socket.localPort ?? 0)
  if (!marked || !isLoopbackAddress(request.socket.remoteAddress) || !direct) {
    throw new Problem('unauthenticated', { detail: 'the internal door is open to this machine only' })
  }
  return { kind: 'internal' }
}
