import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { listOf, number, objectOf, text } from '../formats/prompt/closed-form.ts'
import type { Rule } from '../formats/prompt/closed-form.ts'
import { nothingFound } from '../formats/prompt/prompt-found.ts'
import type { PromptFound, ServerTool } from '../formats/prompt/prompt-found.ts'
import type { TokenUsage } from '../formats/usage.ts'
import { nanoFromUsd } from '../../spending/index.ts'
import type { Price } from './model-prices.ts'

/** The owner's settings for a tool that runs at the provider. */
export interface ServerToolSettings {
  readonly usd_per_call: number
  readonly max_calls: number
  /** The most tokens that one tool call adds to the prompt. */
  readonly max_tokens_per_call: number
}

/** The costs and bounds of the provider-run tools in one model call. */
interface ServerToolTerms {
  /** The request for the provider, with the bounds that the owner set. */
  readonly forwarded: JsonObject
  readonly feeNano: number
  /** The most calls of all tools together; each of them makes the model read the prompt again. */
  readonly calls: number
  /** Tokens that all tool calls add to the prompt; each later tool call reads them again. */
  readonly tokens: number
  feeOf(usage: TokenUsage): number
}

/**
 * Tool kinds with a bound on the number of calls, which the fee reservation needs. A kind without such a bound cannot
 * be allowed; to add a kind, add the place of its bound to this list.
 */
const boundable: readonly {
  readonly type: RegExp
  readonly form: Rule
  /** The member of the tool that holds the bounds; null if the tool itself holds them. */
  readonly within: 'parameters' | null
  readonly bringsBounded: boolean
  /** The field in which the usage reports the calls of this tool; null if it does not report them. */
  readonly counted: string | null
}[] = [
  {
    type: /^openrouter:web_fetch$/,
    form: objectOf({
      type: text,
      parameters: objectOf({
        max_uses: number,
        max_content_tokens: number,
        allowed_domains: listOf(text),
        blocked_domains: listOf(text),
      }),
    }),
    within: 'parameters',
    bringsBounded: true,
    counted: null,
  },
  {
    type: /^web_search_\d{8}$/,
    form: objectOf({
      type: text,
      name: text,
      max_uses: number,
      allowed_domains: listOf(text),
      blocked_domains: listOf(text),
      user_location: objectOf({ type: text, city: text, region: text, country: text, timezone: text }),
      cache_control: objectOf({ type: text, ttl: text }),
    }),
    within: null,
    bringsBounded: false,
    counted: 'web_search_requests',
  },
  {
    type: /^web_fetch_\d{8}$/,
    form: objectOf({
      type: text,
      name: text,
      max_uses: number,
      max_content_tokens: number,
      allowed_domains: listOf(text),
      blocked_domains: listOf(text),
      cache_control: objectOf({ type: text, ttl: text }),
    }),
    within: null,
    bringsBounded: true,
    counted: 'web_fetch_requests',
  },
]

/**
 * Returns the costs and bounds of the tools in a call that run at the provider; null without such tools. Throws the
 * Problem `bad-request` for a tool that the owner has not named and priced for this model. Pure.
 */
export function serverToolTerms(
  model: {
    readonly id: string
    readonly isGivenSearch: boolean
    readonly serverTools: Readonly<Record<string, ServerToolSettings>>
  },
  call: { readonly forwarded: JsonObject; readonly prompt: Pick<PromptFound, 'serverTools'> },
): ServerToolTerms | null {
  // The suffix `:online` makes the provider search without a tool in the request.
  if (model.isGivenSearch) {
    throw refusal(`model: ${model.id} searches the web at its provider, which this fleet does not allow`)
  }
  const { serverTools } = call.prompt
  if (serverTools.length === 0) return null
  const list = Array.isArray(call.forwarded['tools']) ? call.forwarded['tools'] : []
  const tools: JsonValue[] = [...(list as readonly JsonValue[])]
  const allowed = serverTools.map((tool) => {
    const bounded = boundedTool(model, tool, tools[tool.index])
    tools[tool.index] = bounded.tool
    return bounded
  })
  const calls = allowed.reduce((sum, one) => sum + one.calls, 0)
  const feeNano = allowed.reduce((sum, one) => sum + one.calls * one.feeNano, 0)
  const tokens = allowed.reduce((sum, one) => sum + one.calls * one.tokensPerCall, 0)
  return {
    forwarded: { ...call.forwarded, tools },
    feeNano,
    calls,
    tokens,
    feeOf: ({ serverToolCalls: calls, statedUsd }) =>
      allowed.reduce((sum, one) => {
        const count = one.counted === null ? undefined : (calls?.[one.counted] ?? 0)
        // The total cost that a provider reports already contains the fee.
        return sum + (count ?? (statedUsd === undefined ? one.calls : 0)) * one.feeNano
      }, 0),
  }
}

/**
 * Returns the most prompt tokens of a call with tools: for each tool call the model reads again the prompt, its own
 * answer so far, and the results of the tool calls before. Pure.
 */
export function tokensWithTools(
  promptTokens: number,
  terms: ServerToolTerms | null,
  answerTokens: number,
): number {
  if (terms === null) return promptTokens
  return promptTokens * (terms.calls + 1) + (terms.tokens + answerTokens) * terms.calls
}

/** Returns the price of a call with the fees of its tools; at least the cost that the provider reports. */
export function priceWithTools(price: Price, terms: ServerToolTerms | null): Price {
  return {
    ...price,
    callNano: price.callNano + (terms?.feeNano ?? 0),
    costNano: (usage) =>
      Math.max(price.costNano(usage) + (terms?.feeOf(usage) ?? 0), nanoFromUsd(usage.statedUsd ?? 0)),
  }
}

function boundedTool(
  model: { readonly id: string; readonly serverTools: Readonly<Record<string, ServerToolSettings>> },
  { index, type }: ServerTool,
  tool: JsonValue | undefined,
) {
  const kind = boundable.find((one) => one.type.test(type))
  const terms = Object.hasOwn(model.serverTools, type) ? model.serverTools[type] : undefined
  const place = `tools[${index}].type`
  if (!kind) {
    throw refusal(
      `${place}: ${JSON.stringify(type.slice(0, 60))} is not allowed, and no setting can allow it: a tool that runs at the provider is outside the isolation, and its cost has no limit; define a function tool instead`,
    )
  }
  if (!terms) {
    throw refusal(
      `${place}: ${JSON.stringify(type)} runs at the provider, which this fleet does not allow; the owner can allow it by setting its price in server_tools under models, ${JSON.stringify(model.id)}, in config/settings.json`,
    )
  }
  const checked = kind.form(tool ?? null, { path: ['tools', index], found: nothingFound() }) as JsonObject
  const at = kind.within === null ? checked : objectAt(checked, kind.within)
  const own = at['max_uses']
  const calls =
    typeof own === 'number' && own >= 1 ? Math.min(Math.floor(own), terms.max_calls) : terms.max_calls
  const bounds = {
    ...at,
    max_uses: calls,
    ...(kind.bringsBounded ? { max_content_tokens: terms.max_tokens_per_call } : {}),
  }
  return {
    tool: kind.within === null ? bounds : { ...checked, [kind.within]: bounds },
    calls,
    feeNano: nanoFromUsd(terms.usd_per_call),
    tokensPerCall: terms.max_tokens_per_call,
    counted: kind.counted,
  }
}

function objectAt(tool: JsonObject, name: string): JsonObject {
  const value = tool[name]
  return isJsonObject(value) ? value : {}
}

function refusal(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
