import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import { toolGroups } from '@flotilla/protocol/tool-groups'

/**
 * Names from OpenTelemetry's semantic conventions for generative AI, version 1.41.0. They are still in development,
 * so the version is pinned and raised by a decision.
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
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  toolName: 'gen_ai.tool.name',
  errorType: 'error.type',
} as const

/** Attributes that the conventions have no name for. */
export const own = {
  runId: 'flotilla.run.id',
  runKind: 'flotilla.run.kind',
  runState: 'flotilla.run.state',
  attempts: 'flotilla.run.attempts',
  origin: 'flotilla.origin.kind',
  cacheBreak: 'flotilla.cache_break',
  cacheSavedUsd: 'flotilla.cache_saved_usd',
  costUsd: 'flotilla.cost_usd',
  tokens: 'flotilla.tokens',
  unconfirmed: 'flotilla.cost_unconfirmed',
  cutOff: 'flotilla.cut_off',
  bySubagent: 'flotilla.subagent',
} as const

/** Replaces every name outside a closed list: agents choose such names, and labels must be bounded. */
export const otherName = 'other'

const toolNames: ReadonlySet<string> = new Set(toolGroups.flatMap(({ tools }) => Object.values(tools)))

/** Keeps the names of built-in tools; those of MCP servers and skills become `other`. Pure. */
export function boundedTool(name: string): string {
  return toolNames.has(name) ? name : otherName
}

export function boundedCode(code: string | null | undefined): string {
  return code !== null && code !== undefined && isProblemCode(code) ? code : otherName
}
