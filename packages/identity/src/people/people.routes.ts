import { peopleAdminApi as api, peopleAdminEndpoints as endpoints } from '@flotilla/protocol/people-api'
import { isFromPage } from '../http/index.ts'
import type { PeopleSurface } from '../http/index.ts'
import type { ManagePeople } from './manage-people.ts'
import type { OwnNamesOfPeople } from './own-names.ts'
import type { ProveOwner } from './prove-owner.ts'

export function peoplePeopleRoutes(
  { bind }: PeopleSurface,
  {
    manage,
    prove,
    names,
  }: { readonly manage: ManagePeople; readonly prove: ProveOwner; readonly names: OwnNamesOfPeople },
): void {
  bind(endpoints.proofCode, api.proofCode, ({ caller, raw }) => prove.issue(caller, isFromPage(raw)))
  bind(endpoints.proofGive, api.proofGive, ({ caller, body }) => prove.give(caller, body.code))
  bind(endpoints.me, api.me, ({ caller }) => manage.me(caller))
  bind(endpoints.ownNames, api.ownNames, ({ caller }) => names.of(caller))
  bind(endpoints.ownNameChange, api.ownNameChange, ({ caller, body }) => names.change(caller, body))
  bind(endpoints.people, api.people, ({ caller }) => ({ people: manage.list(caller) }))
  bind(endpoints.personAdd, api.personAdd, ({ caller, body, reply }) => {
    void reply.code(201)
    return manage.add(caller, body)
  })
  bind(endpoints.personChange, api.personChange, ({ caller, params, body }) =>
    manage.change(caller, params.name, body),
  )
  bind(endpoints.personRotate, api.personRotate, ({ caller, params, body }) =>
    manage.rotate(caller, params.name, body.expires_days),
  )
  bind(endpoints.personRemove, api.personRemove, async ({ caller, params }) => {
    await manage.remove(caller, params.name)
    return { removed: params.name }
  })
}
