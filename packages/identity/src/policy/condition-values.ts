import type { Effect } from './effect.ts'

/** The variables of a condition, each with its type in CEL. */
export const conditionVariables = {
  agent: 'string',
  project: 'string',
  tool: 'string',
  method: 'string',
  host: 'string',
  path: 'string',
  mcp_server: 'string',
  mcp_tool: 'string',
  credentials: 'list<string>',
  chain: 'string',
  contract: 'string',
  payees: 'list<string>',
  call: 'string',
  usd: 'double',
  origins: 'list<string>',
} as const satisfies Record<string, string>
export type ConditionVariable = keyof typeof conditionVariables
export type ConditionValues = Readonly<
  Record<ConditionVariable, string | number | readonly string[] | null | undefined>
>

/** The values of an effect by the names of the variables; null for a hidden one, undefined for an absent one. Pure. */
export function conditionValues(effect: Effect): ConditionValues {
  return {
    agent: effect.agent,
    project: effect.project,
    tool: effect.tool,
    method: effect.method,
    host: effect.host,
    path: effect.path,
    mcp_server: effect.mcpServer,
    mcp_tool: effect.mcpTool,
    credentials: effect.credentials,
    chain: effect.chain,
    contract: effect.contract,
    payees: effect.payees,
    call: effect.call,
    usd: effect.usd,
    origins: effect.origins,
  }
}
