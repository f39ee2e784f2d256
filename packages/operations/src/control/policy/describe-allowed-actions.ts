import { harnessCallPrefix } from '@flotilla/identity/policy'
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
  return [
    ...subjectLines(agentId, effect),
    origins === null
      ? 'In work of every origin.'
      : `Only in work with the origin ${origins.join(', started by work with the origin ')}.`,
    `Of the rules that ask, only ${rule.excepts ?? 'none'} is taken back; a rule that denies still denies.`,
  ]
}

function subjectLines(agentId: string, effect: EffectDetails): readonly string[] {
  const { tool, method, host, path, mcpServer, mcpTool, chain, call, credentials = [] } = effect
  if (chain !== undefined) return paymentLines(agentId, effect)
  if (tool.startsWith(harnessCallPrefix)) {
    return [
      `The harness of ${agentId} may make exactly the call that is shown, with the SHA-256 ${call}, ${freely}`,
      'A call that differs in any character is asked about.',
    ]
  }
  const filled =
    credentials.length === 0
      ? 'Only if the mesh fills in no credential.'
      : `Only with the credential ${credentials.join(', ')} filled in, and no other one.`
  if (mcpServer !== undefined) {
    return [
      `${agentId} may call the tool ${JSON.stringify(mcpTool)} of the MCP server ${mcpServer}, with any arguments, ${freely}`,
      filled,
    ]
  }
  const by = { connect: 'programs of ', browser: 'the browser of ' }[tool] ?? ''
  return [
    `${by}${agentId} may send ${method} to ${host}${path}${by === '' ? ` by ${tool}` : ''}, on any port, with any query, headers and body, ${freely}`,
    filled,
  ]
}

const freely = 'without asking you, at any time and any number of times.'

function paymentLines(
  agentId: string,
  { chain, contract, payees = [], call, usd }: EffectDetails,
): readonly string[] {
  const what =
    call !== undefined
      ? `make exactly this call of the contract ${contract}, with the same arguments and amount,`
      : contract === 'coin'
        ? 'pay the coin of the chain'
        : `pay the token ${contract}`
  return [
    `${agentId} may ${what} on ${chain}, ${freely}`,
    payees.length === 0 ? 'Only if no address receives anything.' : `Only to ${payees.join(', ')}.`,
    `Each payment counts for at most USD ${(Math.ceil((usd ?? 0) * 100) / 100).toFixed(2)} with its fee.`,
    `The limits of the wallet of ${agentId} still apply, and so do the other reasons for which the wallet asks you.`,
  ]
}
