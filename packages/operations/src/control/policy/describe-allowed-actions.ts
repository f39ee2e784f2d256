import type { EffectDetails, ProposedRule } from '@flotilla/identity/policy'

/**
 * Says exactly which actions a proposed rule allows, in sentences: what it names, and what it leaves open, because a
 * rule cannot name a port, a query, headers or a body. Pure.
 */
export function describeAllowedActions(
  agentId: string,
  { rule, effect }: { readonly rule: ProposedRule; readonly effect: EffectDetails },
  /** The origins that the rule names; null for every origin. */
  origins: readonly string[] | null,
): readonly string[] {
  const { credentials = [] } = effect
  return [
    `${subjectOf(agentId, effect)} without asking you, at any time and any number of times.`,
    credentials.length === 0
      ? 'Only if the mesh fills in no credential.'
      : `Only with the credential ${credentials.join(', ')} filled in, and no other one.`,
    origins === null
      ? 'In work of every origin.'
      : `Only in work with the origin ${origins.join(', started by work with the origin ')}.`,
    `Of the rules that ask, only ${rule.excepts ?? 'none'} is taken back; a rule that denies still denies.`,
  ]
}

function subjectOf(agentId: string, effect: EffectDetails): string {
  const { tool, method, host, path, mcpServer, mcpTool } = effect
  if (mcpServer !== undefined)
    return `${agentId} may call the tool ${JSON.stringify(mcpTool)} of the MCP server ${mcpServer}, with any arguments,`
  const by = { connect: 'programs of ', browser: 'the browser of ' }[tool] ?? ''
  return `${by}${agentId} may send ${method} to ${host}${path}${by === '' ? ` by ${tool}` : ''}, on any port, with any query, headers and body,`
}
