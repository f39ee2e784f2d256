import { traceApi, traceEndpoints } from '@flotilla/protocol/trace-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { ReadTrace } from './read-trace.ts'

export function tracePeopleRoutes({ bind }: PeopleSurface, readTrace: ReadTrace): void {
  bind(traceEndpoints.runTrace, traceApi.runTrace, ({ caller, params }) => readTrace(caller, params.id))
}
