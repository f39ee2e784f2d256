import { setupApi as api, setupEndpoints as endpoints } from '@flotilla/protocol/setup-api'
import type { PeopleSurface } from '../http/index.ts'
import type { SetUpModels } from './set-up-models.ts'

export function setupPeopleRoutes({ bind }: PeopleSurface, setUp: SetUpModels): void {
  bind(endpoints.setup, api.setup, ({ caller }) => setUp.read(caller))
  bind(endpoints.setupLocal, api.setupLocal, ({ caller, gone }) => setUp.local(caller, gone()))
  bind(endpoints.setupCheck, api.setupCheck, ({ caller, body, gone }) => setUp.check(caller, body, gone()))
  bind(endpoints.setupProvider, api.setupProvider, ({ caller, body, gone }) =>
    setUp.store(caller, body, gone()),
  )
  bind(endpoints.setupProviderRemove, api.setupProviderRemove, ({ caller, params }) =>
    setUp.remove(caller, params.name),
  )
  bind(endpoints.setupModel, api.setupModel, ({ caller, body }) => setUp.chooseModel(caller, body.model))
  bind(endpoints.setupDemo, api.setupDemo, ({ caller }) => setUp.playDemo(caller))
  bind(endpoints.setupPrice, api.setupPrice, ({ caller, body }) => setUp.setPrice(caller, body))
}
