import type { PeopleEndpointName } from '@flotilla/client/people-api'
import { refusalOf } from './refusal.ts'
import { useMesh } from './use-mesh.ts'

/** Ids of those that take work, and with which whoever looks at the page may do this. */
export function useWorkingAgents(call: PeopleEndpointName): readonly string[] {
  const me = useMesh('me').data
  const agents = useMesh('status').data?.agents ?? []
  return agents
    .filter(({ id, archived }) => !archived && refusalOf(me, { call, agent: id }) === null)
    .map(({ id }) => id)
}
