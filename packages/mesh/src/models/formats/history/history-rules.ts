import type { ThoughtField } from '../answer/thoughts.ts'

/** What one provider takes of a conversation that it may not have had itself. */
export interface HistoryRules {
  /** The name of the provider in the settings. */
  readonly provider: string
  /** Ids of tool calls that it takes as they are; others are replaced by one of `callIdChars` letters and digits. */
  readonly callId: RegExp
  readonly callIdChars: number
  /** Ids are the names and places of the calls, which this model reads in its history. */
  readonly countsCalls: boolean
  /** Rejects a message of the user directly behind the results of tools. */
  readonly answersResults: boolean
  /** How it takes what was thought before. */
  readonly thinking: ThinkingRule
  /** Instructions come first, and user and model speak in turn. */
  readonly rolesInTurn: boolean
}

export type ThinkingRule =
  /** Refuses any, or every member that it does not know. */
  | { readonly takes: 'nothing' }
  /** Takes its own, in the form in which it came. */
  | { readonly takes: 'own' }
  /** Rejects a tool call without the thinking before it, also if a model of another provider made the call. */
  | { readonly takes: 'text'; readonly field: Extract<ThoughtField, 'reasoning_content'> }
  /** Takes what models of the family of this one have sealed. */
  | { readonly takes: 'details'; readonly formats: readonly string[] }
  /** Wants a seal on each call. */
  | { readonly takes: 'seals' }
  /** Its adapter knows the forms. */
  | { readonly takes: 'all' }

const plainId = /^[a-zA-Z0-9_-]{1,40}$/
const mistralId = /^[a-zA-Z0-9]{9}$/
const mistralModels = /(?:mi[sx]tral|magistral|devstral|codestral|pixtral)/i
const kimiModels = /kimi-?k2/i

/** Servers by the end of their host name; others are an owner's own, which take back what they have sent. */
const rulesByHost: readonly (readonly [RegExp, ThinkingRule])[] = [
  [
    /(?:^|\.)(?:deepseek\.com|moonshot\.(?:ai|cn)|aliyuncs\.com|bigmodel\.cn|z\.ai|xiaomimimo\.com)$/,
    { takes: 'text', field: 'reasoning_content' },
  ],
  [/(?:^|\.)googleapis\.com$/, { takes: 'seals' }],
  [
    /(?:^|\.)(?:openai\.com|groq\.com|cerebras\.ai|mistral\.ai|perplexity\.ai|x\.ai|nvidia\.com|azure\.com)$/,
    { takes: 'nothing' },
  ],
]

const formatsByFamily: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^anthropic\//, ['anthropic-claude-v1']],
  [/^google\//, ['google-gemini-v1']],
  [/^openai\//, ['openai-responses-v1', 'azure-openai-responses-v1']],
  [/^x-ai\//, ['xai-responses-v1']],
]

/** Pure. */
export function historyRulesOf(at: {
  readonly provider: string
  readonly model: string
  readonly kind: string
  readonly baseUrl: string | null
  /** OpenRouter, wherever it is. */
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
  }
}

/** Hosts that take instructions anywhere and messages of one role in a row; Perplexity and Mistral do not. */
const lenientHosts =
  /(?:^|\.)(?:openai\.com|azure\.com|groq\.com|x\.ai|deepseek\.com|moonshot\.(?:ai|cn)|googleapis\.com)$/

/** Other servers run the chat template of their model, and many templates throw for another order. */
function takesAnyOrder(at: Parameters<typeof historyRulesOf>[0]): boolean {
  if (at.kind === 'scripted' || at.kind === 'offline' || at.takesDetails) return true
  if (at.kind === 'azure') return true
  return (
    at.kind === 'openai-compatible' && at.baseUrl !== null && lenientHosts.test(new URL(at.baseUrl).hostname)
  )
}

function thinkingRule(at: Parameters<typeof historyRulesOf>[0]): ThinkingRule {
  // Adapters choose by format, and the scripted provider reads none.
  if (at.kind !== 'openai-compatible') return { takes: 'all' }
  if (at.takesDetails) {
    const family = formatsByFamily.find(([models]) => models.test(at.model))
    return { takes: 'details', formats: ['unknown', ...(family?.[1] ?? [])] }
  }
  const host = at.baseUrl === null ? '' : new URL(at.baseUrl).hostname
  return rulesByHost.find(([hosts]) => hosts.test(host))?.[1] ?? { takes: 'own' }
}
