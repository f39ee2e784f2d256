import { aModelPath } from './model-harness.ts'
import type { LlmParts, LlmPartsOptions } from './model-harness.ts'
import { startLlmUpstream } from './llm-upstream.ts'
import type { LlmUpstream } from './llm-upstream.ts'

/** Runs the path of a model call, from the API's use case to a loopback provider. */
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

/** The bytes of a small chat completion request, with the fields that a test adds. */
export function completionBody(more: object = {}): Uint8Array {
  const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }], ...more }
  return new TextEncoder().encode(JSON.stringify(body))
}

/** Reads a whole answer as text; a stream is read to its end. */
export async function wholeText(body: Uint8Array | AsyncIterable<Uint8Array>): Promise<string> {
  if (body instanceof Uint8Array) return new TextDecoder().decode(body)
  return Buffer.concat(await Array.fromAsync(body)).toString()
}
