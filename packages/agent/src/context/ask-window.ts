import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import type { RunMesh } from '../mesh/run-mesh.ts'

const askTimeoutMs = 10_000

/** Returns the model's context window in tokens from `GET /v1/models`; null when the reply has none. */
export async function askWindow(mesh: RunMesh, model: string, signal: AbortSignal): Promise<number | null> {
  const reply = await mesh.call({
    endpoint: meshAgentEndpoints.models,
    timeoutMs: askTimeoutMs,
    waitForMesh: false,
    signal,
  })
  return readWindow(reply, model)
}

/** Returns the model's window from the reply, or null. A bare name matches a model of any provider. Pure. */
export function readWindow(reply: unknown, model: string): number | null {
  const data: unknown = typeof reply === 'object' && reply !== null && 'data' in reply ? reply.data : null
  for (const entry of Array.isArray(data) ? (data as readonly unknown[]) : []) {
    if (typeof entry !== 'object' || entry === null || !('id' in entry)) continue
    if (entry.id !== model && !String(entry.id).endsWith(`/${model}`)) continue
    const length = 'context_length' in entry ? entry.context_length : null
    if (typeof length === 'number' && Number.isSafeInteger(length) && length > 0) return length
  }
  return null
}
