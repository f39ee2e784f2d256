import type { Endpoint } from '@flotilla/protocol/endpoint'
import { Problem } from '@flotilla/protocol/problem'
import { modelEndpoints } from '@flotilla/protocol/model-api'
import type { RunMesh } from '../mesh/run-mesh.ts'

/** Longest wait for one batch of vectors. */
const embedTimeoutMs = 30_000

/**
 * Returns one vector for each text, in order, all of one length. Rejects with a Problem, or with the signal's reason.
 */
export type EmbedTexts = (texts: readonly string[], signal: AbortSignal) => Promise<readonly Float32Array[]>

/** A running run: its embedding function, and a signal that aborts when it ends. */
export interface EmbeddingSource {
  readonly embed: EmbedTexts
  readonly ended: AbortSignal
}

/** The embedding function of a run; null when no model is set for it. */
export function embeddingSourceOf(mesh: RunMesh, model: string | null): EmbeddingSource | null {
  if (model === null) return null
  return {
    embed: embedThroughMesh(mesh, modelEndpoints.embeddings, model),
    ended: mesh.ended ?? AbortSignal.abort(new Error('the run has no end signal')),
  }
}

/** Returns a function that embeds texts through the mesh, which has the provider's key and charges the run. */
export function embedThroughMesh(mesh: RunMesh, endpoint: Endpoint, model: string): EmbedTexts {
  return async (texts, signal) => {
    const body = { model, input: texts, encoding_format: 'float' }
    // The queue retries by itself.
    const call = { endpoint, body, signal, timeoutMs: embedTimeoutMs, waitForMesh: false }
    return readVectors(await mesh.call(call), texts.length)
  }
}

/** Pure. The vectors in an answer in OpenAI's format, which is untrusted. Problem `model-failed`. */
export function readVectors(reply: unknown, count: number): readonly Float32Array[] {
  const data = field(reply, 'data')
  const items: readonly unknown[] = Array.isArray(data) ? data : []
  const vectors = Array.from<Float32Array | undefined>({ length: count })
  items.forEach((item, place) => {
    const index = field(item, 'index') ?? place
    if (typeof index === 'number' && index >= 0 && index < count) {
      vectors[index] = readVector(field(item, 'embedding'))
    }
  })
  const whole = vectors.filter((vector) => vector !== undefined)
  const lengths = new Set(whole.map((vector) => vector.length))
  if (whole.length === count && lengths.size === 1 && !lengths.has(0)) return whole
  throw new Problem('model-failed', {
    detail: `The answer does not contain ${count} vectors of the same length.`,
  })
}

function readVector(value: unknown): Float32Array | undefined {
  if (!Array.isArray(value) || !value.every((part) => typeof part === 'number' && Number.isFinite(part)))
    return undefined
  return Float32Array.from(value as readonly number[]) // checked above
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
}
