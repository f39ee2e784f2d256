import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { mcpAgentEndpoints } from '@flotilla/protocol/mcp-api'
import { isModelSurface } from '@flotilla/protocol/rate-buckets'
import { toolEndpoints } from '@flotilla/protocol/tool-api'
import { vaultAgentEndpoints } from '@flotilla/protocol/vault-api'
import type { Action } from '../../policy/action.ts'
import type { PlainCall } from './gate.ts'

const http: Action = { do: 'call-api', api: 'http' }
const models: Action = { do: 'call-api', api: 'llm' }

/** Paths of calls with bodies that one permission decides, whatever the body says. */
const byPath: ReadonlyMap<string, Action> = new Map([
  [meshAgentEndpoints.handOff.path, { do: 'route-tasks' }],
  [meshAgentEndpoints.httpRequest.path, http],
  [mcpAgentEndpoints.mcpExchange.path, http],
  [toolEndpoints.webSearch.path, { do: 'call-api', api: 'web_search' }],
  [vaultAgentEndpoints.credentialRequest.path, { do: 'request-credential' }],
])

const entryPath = meshAgentEndpoints.blackboardWrite.path.replace(/\{\*\w+\}/, '*')

/**
 * What a call with a body wants to do, as far as its method and path tell: the same that its use case asks for, so that
 * a body that changes nothing about a refusal is not read for it. Null where the body decides, or there is none. Pure.
 */
export function actionOf({ method, path, params }: PlainCall): Action | null {
  if (method === 'GET' || method === 'HEAD') return null
  if (isModelSurface(path)) return models
  if (method === meshAgentEndpoints.blackboardWrite.method && path === entryPath) {
    return { do: 'write-blackboard', key: params['*'] ?? '' }
  }
  return byPath.get(path) ?? null
}
