import { Readable } from 'node:stream'
import { journalApi, journalEndpoints } from '@flotilla/protocol/journal-api'
import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import { alreadySent } from '@flotilla/identity/http'
import type { PeopleSurface, PublicSurface } from '@flotilla/identity/http'
import { productVersion } from '@flotilla/foundation/platform'
import type { Readiness } from './doctor/judge-readiness.ts'
import type { FleetStatus } from './fleet-status.ts'
import { prometheusContentType, prometheusText } from './prometheus-text.ts'
import type { ReadOutJournal } from './read-out-journal.ts'

/** Liveness and readiness probes: whether the process responds, and whether it can run agents. */
export function healthRoutes({ bind }: PublicSurface, readiness: () => Readiness): void {
  bind(endpoints.healthz, api.healthz, () => ({ status: 'ok' as const, version: productVersion }))
  bind(endpoints.readyz, api.readyz, ({ reply }) => {
    const state = readiness()
    void reply.code(state.ready ? 200 : 503)
    return state
  })
}

export function statusRoutes({ bind }: PeopleSurface, status: FleetStatus): void {
  bind(endpoints.status, api.status, ({ caller }) => status.read(caller))
  bind(endpoints.metrics, api.metrics, ({ caller, reply }) => {
    const metrics = status.metrics(caller)
    void reply.type(prometheusContentType)
    return prometheusText(metrics)
  })
}

export function journalRoutes({ bind }: PeopleSurface, journal: ReadOutJournal): void {
  const [paths, schemas] = [journalEndpoints, journalApi]
  bind(paths.journalExport, schemas.journalExport, async ({ caller, query, reply, gone }) => {
    const lines = journal.exportLines(caller, query, gone())
    void reply.type('application/x-ndjson; charset=utf-8')
    await reply.send(Readable.from(lines))
    return alreadySent
  })
  bind(paths.journalVerify, schemas.journalVerify, ({ caller }) => journal.verifyForPerson(caller))
  bind(paths.journalAccept, schemas.journalAccept, ({ caller }) => journal.accept(caller))
}
