import { meshAgentApi, meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { toolApi, toolEndpoints } from '@flotilla/protocol/tool-api'
import type { AgentSurface } from '@flotilla/identity/http'
import type { ForwardRequest } from './fetch/forward-request.ts'
import type { WebSearch } from './search/web-search.ts'

export function egressAgentRoutes(
  { bind }: AgentSurface,
  { forwardRequest, webSearch }: { readonly forwardRequest: ForwardRequest; readonly webSearch: WebSearch },
): void {
  // The request continues if the agent's process ends: its answer is stored for the attempt that continues the run.
  bind(
    meshAgentEndpoints.httpRequest,
    { ...meshAgentApi.httpRequest, needs: () => ({ do: 'call-api', api: 'http' }) },
    ({ caller, body, effect, gone: clientGone }) => {
      const { key, outside, repeatable } = effect(body)
      const once = body.method === 'GET' || body.method === 'HEAD' ? repeatable : outside
      const gone = clientGone()
      return once((line) => forwardRequest(caller, body, { ...line, gone, key }))
    },
  )
  // The call changes nothing, so it needs no idempotency key.
  bind(
    toolEndpoints.webSearch,
    { ...toolApi.webSearch, needs: () => ({ do: 'call-api', api: 'web_search' }) },
    ({ caller, body, gone }) => webSearch(caller, body, gone()),
  )
}
