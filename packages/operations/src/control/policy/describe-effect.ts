import { harnessCallPrefix } from '@flotilla/identity/policy'
import type { EffectDetails } from '@flotilla/identity/policy'

/** An effect in one line, such as `POST https://api.example.org/v1 by a program, with github`. Pure. */
export function describeEffect(effect: EffectDetails): string {
  const { tool, method, host, path, mcpServer, mcpTool, chain, credentials = [] } = effect
  const keys = credentials.length === 0 ? '' : ` with ${credentials.join(', ')}`
  if (mcpServer !== undefined)
    return `${typeof mcpTool === 'string' ? `the tool ${mcpTool}` : 'a request'} of the MCP server ${mcpServer}${keys}`
  if (chain !== undefined) return `${tool} on ${chain}`
  if (tool.startsWith(harnessCallPrefix)) return `a call of its harness, ${tool}`
  const by = { connect: 'by a program', browser: 'by a browser' }[tool] ?? `by ${tool}`
  if (typeof method !== 'string' || typeof path !== 'string') return `a connection to ${host} ${by}${keys}`
  return `${method} ${host}${path} ${by}${keys}`
}
