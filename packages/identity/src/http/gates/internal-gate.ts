import type { FastifyRequest } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../../access/index.ts'
import { requireDirectCall } from './direct-call.ts'
import type { DirectCallDeps } from './direct-call.ts'
import { requireMeantHome } from './meant-home.ts'
import type { OwnHome } from './meant-home.ts'

export type InternalGate = (request: FastifyRequest) => Caller

/** Admits this machine's programs: direct calls from loopback with the marker header. One reason for all refusals. */
export function createInternalGate(direct: DirectCallDeps, home: OwnHome): InternalGate {
  return (request) => {
    try {
      if (request.headers[headers.meshInternal] !== '1') throw new Problem('unauthenticated')
      requireDirectCall(request, direct)
    } catch (cause) {
      throw new Problem('unauthenticated', {
        detail: 'only programs on the machine of the mesh may call the internal API',
        cause,
      })
    }
    requireMeantHome(request, home)
    return { kind: 'internal' }
  }
}
