import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import type { readyReplySchema } from '@flotilla/protocol/mesh-human-api'
import { createBinder } from '../http/bind-endpoint.ts'

export interface PublicRoutesDeps {
  readonly version: string
  readonly readiness: () => z.input<typeof readyReplySchema>
}

/** What anyone may ask: whether the mesh lives, and whether it can run agents. */
export function publicRoutes(scope: FastifyInstance, { version, readiness }: PublicRoutesDeps): void {
  const bind = createBinder(scope)
  bind(endpoints.healthz, api.healthz, async () => ({ status: 'ok' as const, version }))
  bind(endpoints.readyz, api.readyz, async ({ reply }) => {
    const state = readiness()
    void reply.code(state.ready ? 200 : 503)
    return state
  })
}
