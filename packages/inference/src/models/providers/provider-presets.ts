import type { ChatExtras } from '../formats/translate/fit-chat.ts'
import type { UsageRule } from '../formats/usage.ts'

/** Kinds of provider with an adapter of the AI SDK. */
export type SdkKind = 'google' | 'mistral' | 'cohere' | 'bedrock' | 'azure'

/** A provider that is known by name, so that it needs only credentials in `.env`. */
export interface ProviderPreset {
  readonly kind: 'openai-compatible' | 'anthropic' | SdkKind
  /** The base address; null if it depends on the owner's region or resource. */
  readonly baseUrl: string | null
  /** True if the server usually runs on the owner's machine. This does not make it free: it may run anywhere. */
  readonly needsNoKey?: boolean
  readonly extras?: Omit<ChatExtras, 'boundField'>
  /** How the provider reports usage, if the general rule of `usage.ts` would price it too low. */
  readonly usage?: UsageRule
  /** The default model of agents if this provider has the only key. */
  readonly usualModel?: string
}

/**
 * Presets by name, in the order in which a default model is looked for. The credentials are `NAME_api_key` and, for
 * another address, `NAME_base_url`.
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

/** Returns the usage rule of a provider by its name, or by its host if the owner chose another name. Pure. */
export function usageRuleOf(provider: string, baseUrl: string | null): UsageRule {
  const named = Object.hasOwn(providerPresets, provider) ? providerPresets[provider]?.usage : undefined
  if (named !== undefined || baseUrl === null) return named ?? {}
  const host = new URL(baseUrl).hostname
  const there = Object.values(providerPresets).find(
    (preset) => preset.baseUrl !== null && preset.usage && new URL(preset.baseUrl).hostname === host,
  )
  return there?.usage ?? {}
}
