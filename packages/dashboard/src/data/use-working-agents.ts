import type { PeopleEndpointName } from '@flotilla/client/people-api'
import { refusalOf } from './refusal.ts'
import { useMesh } from './use-mesh.ts'

/** Ids of the agents that accept work and for which the signed-in person may make this call; undefined until loaded. */
export function useWorkingAgents(call: PeopleEndpointName): readonly string[] | undefined {
  const me = useMesh('me').data
  const status = useMesh('status').data
  return status?.agents
    .filter(({ id, archived }) => !archived && refusalOf(me, { call, agent: id }) === null)
    .map(({ id }) => id)
}
