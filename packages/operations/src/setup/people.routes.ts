import { setupApi as api, setupEndpoints as endpoints } from '@flotilla/protocol/setup-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import { chooseModel, localServers, playDemo, readSetup, setPrice } from './choose-model.ts'
import { readAnswers, setAnswers } from './choose-answers.ts'
import { checkProvider, removeProvider, storeProvider } from './keep-provider.ts'
import type { SetupContext } from './setup-context.ts'

export function setupPeopleRoutes({ bind }: PeopleSurface, context: SetupContext): void {
  bind(endpoints.setup, api.setup, ({ caller }) => readSetup(context, caller))
  bind(endpoints.setupLocal, api.setupLocal, ({ caller, gone }) => localServers(context, caller, gone()))
  bind(endpoints.setupCheck, api.setupCheck, ({ caller, body, gone }) =>
    checkProvider(context, caller, { input: body, signal: gone() }),
  )
  bind(endpoints.setupProvider, api.setupProvider, ({ caller, body, gone }) =>
    storeProvider(context, caller, { input: body, signal: gone() }),
  )
  bind(endpoints.setupProviderRemove, api.setupProviderRemove, ({ caller, params }) =>
    removeProvider(context, caller, params.name),
  )
  bind(endpoints.setupModel, api.setupModel, ({ caller, body }) => chooseModel(context, caller, body.model))
  bind(endpoints.setupDemo, api.setupDemo, ({ caller }) => playDemo(context, caller))
  bind(endpoints.setupPrice, api.setupPrice, ({ caller, body }) => setPrice(context, caller, body))
  bind(endpoints.setupAnswers, api.setupAnswers, ({ caller }) => readAnswers(context, caller))
  bind(endpoints.setupAnswersSet, api.setupAnswersSet, ({ caller, body }) =>
    setAnswers(context, caller, body),
  )
}
