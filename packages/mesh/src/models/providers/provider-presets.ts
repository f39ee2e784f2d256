import type { ChatExtras } from '../formats/translate/fit-chat.ts'
import type { UsageRule } from '../formats/usage.ts'

/** Kinds of provider that have an adapter of their own behind one translation. */
export type SdkKind = 'google' | 'mistral' | 'cohere' | 'bedrock' | 'azure'

/** A provider that is known by name, so that its credentials in `.env` are all that it needs. */
export interface ProviderPreset {
  readonly kind: 'openai-compatible' | 'anthropic' | SdkKind
  /** Null where it depends on what the owner has: a region, a resource. */
  readonly baseUrl: string | null
  /** Usually on a machine of the owner's. It says nothing of what it costs: the same program may run anywhere. */
  readonly needsNoKey?: boolean
  readonly extras?: Omit<ChatExtras, 'boundField'>
  /** How it tells what a call used, where the general rule of `usage.ts` would price it too low. */
  readonly usage?: UsageRule
  /** What agents think with when this is the only key there is. */
  readonly usualModel?: string
}

/**
 * By name, in the order in which they are tried for a usual model. The credentials are `NAME_api_key` and, to reach
 * it elsewhere, `NAME_base_url`.
 */
export const providerPresets: Readonly<Record<string, ProviderPreset>> = {
  openai: {
    kind: 'openai-compatible',
    baseUrl: 'https://api.openai.com/v1',
    usualModel: 'openai/gpt-5-mini',
  },
  anthropic: {
    kind: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    usualModel: 'anthropic/claude-sonnet-5',
  },
  google: {
    kind: 'google',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    usualModel: 'google/gemini-3.5-flash',
  },
  mistral: {
    kind: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    usualModel: 'mistral/mistral-medium-latest',
  },
  cohere: { kind: 'cohere', baseUrl: 'https://api.cohere.com/v2', usualModel: 'cohere/command-a-03-2025' },
  bedrock: { kind: 'bedrock', baseUrl: null },
  azure: { kind: 'azure', baseUrl: null },
  groq: { kind: 'openai-compatible', baseUrl: 'https://api.groq.com/openai/v1' },
  openrouter: {
    kind: 'openai-compatible',
    baseUrl: 'https://openrouter.ai/api/v1',
    extras: { cacheControl: true, thinking: 'reasoning_details', reasoning: true, topK: true },
    usage: { tellsCost: true },
  },
  deepseek: {
    kind: 'openai-compatible',
    baseUrl: 'https://api.deepseek.com/v1',
    extras: { thinking: 'reasoning_content' },
    usualModel: 'deepseek/deepseek-chat',
  },
  xai: {
    kind: 'openai-compatible',
    baseUrl: 'https://api.x.ai/v1',
    usualModel: 'xai/grok-4',
    usage: { reasoningBeside: true, tellsCost: true },
  },
  together: { kind: 'openai-compatible', baseUrl: 'https://api.together.xyz/v1', extras: { topK: true } },
  fireworks: {
    kind: 'openai-compatible',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    extras: { topK: true },
  },
  cerebras: { kind: 'openai-compatible', baseUrl: 'https://api.cerebras.ai/v1' },
  perplexity: {
    kind: 'openai-compatible',
    baseUrl: 'https://api.perplexity.ai',
    usage: { reasoningBeside: true, tellsCost: true },
  },
  moonshot: {
    kind: 'openai-compatible',
    baseUrl: 'https://api.moonshot.ai/v1',
    extras: { thinking: 'reasoning_content' },
  },
  nvidia: { kind: 'openai-compatible', baseUrl: 'https://integrate.api.nvidia.com/v1' },
  ollama: {
    kind: 'openai-compatible',
    baseUrl: 'http://127.0.0.1:11434/v1',
    needsNoKey: true,
    extras: { topK: true },
  },
  vllm: {
    kind: 'openai-compatible',
    baseUrl: 'http://127.0.0.1:8000/v1',
    needsNoKey: true,
    extras: { topK: true },
  },
  lmstudio: {
    kind: 'openai-compatible',
    baseUrl: 'http://127.0.0.1:1234/v1',
    needsNoKey: true,
    extras: { topK: true },
  },
  llamacpp: {
    kind: 'openai-compatible',
    baseUrl: 'http://127.0.0.1:8080/v1',
    needsNoKey: true,
    extras: { topK: true },
  },
}

/** By the name, or by where it is, under whatever name the owner has set it up. Pure. */
export function usageRuleOf(provider: string, baseUrl: string | null): UsageRule {
  const named = Object.hasOwn(providerPresets, provider) ? providerPresets[provider]?.usage : undefined
  if (named !== undefined || baseUrl === null) return named ?? {}
  const host = new URL(baseUrl).hostname
  const there = Object.values(providerPresets).find(
    (preset) => preset.baseUrl !== null && preset.usage && new URL(preset.baseUrl).hostname === host,
  )
  return there?.usage ?? {}
}
