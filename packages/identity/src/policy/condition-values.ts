import type { Effect, WorkOrigins } from './effect.ts'

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
  channels: 'list<string>',
} as const satisfies Record<string, string>
export type ConditionVariable = keyof typeof conditionVariables
export type ConditionValues = Readonly<
  Record<ConditionVariable, string | number | readonly string[] | null | undefined>
>

/** The values of an effect by the names of the variables; null for a hidden one, undefined for an absent one. Pure. */
export function conditionValues(
  effect: Effect,
  { origins, channels }: Partial<WorkOrigins> = effect,
): ConditionValues {
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
    origins,
    channels,
  }
}

const variableNames = Object.keys(conditionVariables) as readonly ConditionVariable[]

/** Returns a set of variables as a number with a bit for each. Pure. */
export function variableBits(names: Iterable<ConditionVariable>): number {
  let bits = 0
  for (const name of names) bits |= 1 << variableNames.indexOf(name)
  return bits
}

/** Returns the variables that do not apply to an effect, and those whose values the mesh cannot see. Pure. */
export function missingVariables(values: ConditionValues): {
  readonly absent: number
  readonly hidden: number
} {
  return {
    absent: variableBits(variableNames.filter((name) => values[name] === undefined)),
    hidden: variableBits(variableNames.filter((name) => values[name] === null)),
  }
}
