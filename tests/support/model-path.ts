import { aModelPath } from './model-harness.ts'
import type { LlmParts, LlmPartsOptions } from './model-harness.ts'
import { startLlmUpstream } from './llm-upstream.ts'
import type { LlmUpstream } from './llm-upstream.ts'

/** The path of a model call from the API's use case to a provider, with a loopback provider at its end. */
export async function withModelPath<T>(
  options: LlmPartsOptions,
  work: (at: { upstream: LlmUpstream; parts: LlmParts }) => Promise<T>,
): Promise<T> {
  const upstream = await startLlmUpstream()
  const parts = aModelPath({ baseUrl: upstream.baseUrl, ...options })
  try {
    return await work({ upstream, parts })
  } finally {
    await parts.close()
    await upstream.close()
  }
}

/** The bytes of a chat completion that asks for little, with what a test adds to it. */
export function completionBody(more: object = {}): Uint8Array {
  const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }], ...more }
  return new TextEncoder().encode(JSON.stringify(body))
}

/** All of an answer as text, read to its end where it streams. */
export async function wholeText(body: Uint8Array | AsyncIterable<Uint8Array>): Promise<string> {
  if (body instanceof Uint8Array) return new TextDecoder().decode(body)
  return Buffer.concat(await Array.fromAsync(body)).toString()
}
