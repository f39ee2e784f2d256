import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import { toolGroups } from '@flotilla/protocol/tool-groups'

/**
 * Names of OpenTelemetry's semantic conventions for generative AI, as version 1.41.0 has them: still in development there,
 * so that a later version is a decision and not an update.
 */
export const conventionsVersion = '1.41.0'
export const schemaUrl = `https://opentelemetry.io/schemas/${conventionsVersion}`

export const genAi = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  requestModel: 'gen_ai.request.model',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  toolName: 'gen_ai.tool.name',
  errorType: 'error.type',
} as const

/** What the conventions have no name for. */
export const own = {
  runId: 'flotilla.run.id',
  runKind: 'flotilla.run.kind',
  runState: 'flotilla.run.state',
  attempts: 'flotilla.run.attempts',
  origin: 'flotilla.origin.kind',
  costUsd: 'flotilla.cost_usd',
  tokens: 'flotilla.tokens',
  unconfirmed: 'flotilla.cost_unconfirmed',
  cutOff: 'flotilla.cut_off',
  bySubagent: 'flotilla.subagent',
} as const

/** Whatever is not in a closed list: agents choose such names, and nobody else would bound them. */
export const otherName = 'other'

const toolNames: ReadonlySet<string> = new Set(toolGroups.flatMap(({ tools }) => Object.values(tools)))

/** The name of a tool that agents are made with; all of MCP servers and skills are one. Pure. */
export function boundedTool(name: string): string {
  return toolNames.has(name) ? name : otherName
}

/** Pure. */
export function boundedCode(code: string | null | undefined): string {
  return code !== null && code !== undefined && isProblemCode(code) ? code : otherName
}
