import { browserAgentApi as api } from '@flotilla/protocol/browser-api'
import { browserAgentEndpoints as endpoints } from '@flotilla/protocol/browser-endpoints'
import { isBrowserAction } from '@flotilla/protocol/browser-actions'
import { browserTools } from '@flotilla/protocol/browser-tools'
import type { AgentSurface } from '@flotilla/identity/http'
import type { ActInBrowser } from './act.ts'

export function browserAgentRoutes({ bind }: AgentSurface, act: ActInBrowser): void {
  bind(
    endpoints.browserAct,
    {
      ...api.browserAct,
      needs: ({ action = '' }) => ({ do: 'use-browser', browserAction: action }),
    },
    ({ caller, params: { action }, body, effect, gone }) => {
      // Read-only actions can be repeated, so they need no key, and their pictures are not stored.
      if (isBrowserAction(action) && browserTools[action].looks) {
        return act(caller, { action, params: body }, { dispatching: () => {}, signal: gone() })
      }
      return effect({ action, params: body }).outside((line) => act(caller, { action, params: body }, line))
    },
  )
}
