import type { FastifyRequest } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'

export interface OwnHome {
  readonly id: string
  readonly folder: string
}

/**
 * Another mesh may answer on a known port. A call that names its home is refused with `wrong-home` by the mesh of any
 * other home; a call without a name is accepted. Checked once the caller is known to have access to this home.
 */
export function requireMeantHome(request: FastifyRequest, own: OwnHome): void {
  const meant = request.headers[headers.home]
  if (meant === undefined || meant === own.id) return
  const named = typeof meant === 'string' && /^[\w-]{1,64}$/.test(meant) ? `home ${meant}` : 'another home'
  throw new Problem('wrong-home', {
    detail: `the call is for the home ${named}, but this mesh has the home ${own.folder} (${own.id})`,
    extra: { home: own.folder, home_id: own.id },
  })
}
