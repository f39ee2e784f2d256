import type { ThoughtField } from '../answer/thoughts.ts'
import { takesDeferredTools } from '../deferred-tools.ts'
import { isOpenAi } from '../openai-address.ts'
import { toolLimitsOf } from '../translate/tool-limits.ts'
import type { ToolLimits } from '../translate/tool-limits.ts'

/** The rules of one provider for a conversation that may include answers of other models. */
export interface HistoryRules {
  /** The name of the provider in the settings. */
  readonly provider: string
  /** Tool call ids that the provider accepts; others are replaced by `callIdChars` letters and digits. */
  readonly callId: RegExp
  readonly callIdChars: number
  /** Whether ids must consist of name and position of the call, because this model reads them in its history. */
  readonly countsCalls: boolean
  /** Whether the provider rejects a user message directly after tool results. */
  readonly answersResults: boolean
  /** The form in which the provider accepts earlier thinking. */
  readonly thinking: ThinkingRule
  /** Whether instructions must come first, and user and model must alternate. */
  readonly rolesInTurn: boolean
  /** True if joined messages of one role become parts of one message; some chat servers accept only text. */
  readonly joinsParts: boolean
  /** Whether found tools are sent as references to deferred tools, and not as text. */
  readonly takesDeferredTools: boolean
  /** What the provider accepts of the tools beside the conversation. */
  readonly tools: ToolLimits
}

export type ThinkingRule =
  /** Rejects earlier thinking, or every unknown member. */
  | { readonly takes: 'nothing' }
  /** Accepts its own thinking in its original form. */
  | { readonly takes: 'own' }
  /** Rejects a tool call without the thinking before the call, even if another provider's model made the call. */
  | { readonly takes: 'text'; readonly field: Extract<ThoughtField, 'reasoning_content'> }
  /** Accepts its own thinking, signed by models of the same family. */
  | { readonly takes: 'details'; readonly formats: readonly string[] }
  /** Requires a signature on each tool call. */
  | { readonly takes: 'seals' }
  /** The adapter of the provider converts all forms of its own thinking. */
  | { readonly takes: 'all' }

const plainId = /^[a-zA-Z0-9_-]{1,40}$/
const mistralId = /^[a-zA-Z0-9]{9}$/
const mistralModels = /(?:mi[sx]tral|magistral|devstral|codestral|pixtral)/i
const kimiModels = /kimi-?k2/i

/** Rules by the end of the host name. All other hosts get their own thinking back. */
const rulesByHost: readonly (readonly [RegExp, ThinkingRule])[] = [
  [
    /(?:^|\.)(?:deepseek\.com|moonshot\.(?:ai|cn)|kimi\.com|aliyuncs\.com|bigmodel\.cn|z\.ai|xiaomimimo\.com)$/,
    { takes: 'text', field: 'reasoning_content' },
  ],
  [/(?:^|\.)googleapis\.com$/, { takes: 'seals' }],
  [
    /(?:^|\.)(?:openai\.com|groq\.com|cerebras\.ai|mistral\.ai|perplexity\.ai|x\.ai|nvidia\.com|azure\.com)$/,
    { takes: 'nothing' },
  ],
]

const openAiFormat = 'openai-responses-v1'

const formatsByFamily: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^anthropic\//, ['anthropic-claude-v1']],
  [/^google\//, ['google-gemini-v1']],
  [/^openai\//, [openAiFormat, 'azure-openai-responses-v1']],
  [/^x-ai\//, ['xai-responses-v1']],
]

/** Pure. */
export function historyRulesOf(at: {
  readonly provider: string
  readonly model: string
  readonly kind: string
  readonly baseUrl: string | null
  /** True if the provider speaks OpenRouter's API, at any address. */
  readonly takesDetails: boolean
}): HistoryRules {
  const { provider, model } = at
  const isMistral = mistralModels.test(model)
  return {
    provider,
    callId: isMistral ? mistralId : plainId,
    callIdChars: isMistral ? 9 : 24,
    countsCalls: kimiModels.test(model),
    answersResults: isMistral,
    thinking: thinkingRule(at),
    rolesInTurn: !takesAnyOrder(at),
    joinsParts: at.kind !== 'openai-compatible',
    takesDeferredTools: takesDeferredTools(at),
    tools: toolLimitsOf(at),
  }
}

/** Hosts that accept instructions anywhere and consecutive messages of one role; Perplexity and Mistral do not. */
const lenientHosts =
  /(?:^|\.)(?:openai\.com|azure\.com|groq\.com|x\.ai|deepseek\.com|moonshot\.(?:ai|cn)|kimi\.com|googleapis\.com)$/

/** Whether the server takes messages in any order. Servers that run a model's chat template often do not. */
function takesAnyOrder(at: Parameters<typeof historyRulesOf>[0]): boolean {
  if (at.kind === 'scripted' || at.kind === 'offline' || at.takesDetails) return true
  if (at.kind === 'azure') return true
  return (
    at.kind === 'openai-compatible' && at.baseUrl !== null && lenientHosts.test(new URL(at.baseUrl).hostname)
  )
}

function thinkingRule(at: Parameters<typeof historyRulesOf>[0]): ThinkingRule {
  // Adapters of other kinds select thinking by its format themselves; the scripted provider reads no thinking.
  if (at.kind !== 'openai-compatible') return { takes: 'all' }
  // Calls by its Responses API return its own thinking; from calls by chat completions the adapter removes it.
  if (isOpenAi(at.baseUrl)) return { takes: 'details', formats: [openAiFormat] }
  if (at.takesDetails) {
    const family = formatsByFamily.find(([models]) => models.test(at.model))
    return { takes: 'details', formats: ['unknown', ...(family?.[1] ?? [])] }
  }
  const host = at.baseUrl === null ? '' : new URL(at.baseUrl).hostname
  return rulesByHost.find(([hosts]) => hosts.test(host))?.[1] ?? { takes: 'own' }
}
