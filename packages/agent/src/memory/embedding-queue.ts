import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { Log } from '@flotilla/protocol/json-log'
import type { EmbeddingSource } from './embed-texts.ts'
import type { PendingText, VectorIndex } from './vector-index.ts'

/** Number of texts in one call; even the longest ones fit one request of the model API. */
export const embedBatchMax = 64
/** How long a question waits for its vector before it is answered by words. */
export const questionWaitMs = 5000
/** Backoff after failures in a row; the last value repeats, because no failure is permanent. */
export const backOffMs = [1000, 5000, 30_000, 120_000, 600_000] as const

/**
 * Embeds the texts that wait in the file while a run uses the memory. After a failure nothing is requested
 * for a while, longer with each failure in a row: an outage delays vectors and never loses them. A text that
 * is rejected by itself goes to the end of the queue, so that it does not block the others.
 */
export interface EmbeddingQueue {
  /** Embeds waiting texts until none waits or the run ends. One run at a time. Never rejects. */
  work(source: EmbeddingSource): Promise<void>
  /** The vector of a question; null, without a wait, while the model is unavailable. */
  question(source: EmbeddingSource, text: string, signal: AbortSignal): Promise<Float32Array | null>
  /** True after a failure until the next try. */
  isResting(): boolean
  /** Why the last call failed, until one succeeds. */
  failure(): string | null
}

export function createEmbeddingQueue(deps: { vectors: VectorIndex; clock: Clock; log: Log }): EmbeddingQueue {
  const { vectors, clock, log } = deps
  let failures = 0
  let notBefore = 0
  let failure: string | null = null
  let working: { readonly run: AbortSignal; readonly done: Promise<void> } | null = null

  const failed = (error: unknown): void => {
    notBefore = clock.now() + waitAfter(failures)
    failures += 1
    failure = error instanceof Error ? error.message : String(error)
    if (failures === 1)
      log.warn({ err: error }, 'failed to compute embeddings; memory searches by words until they work again')
  }
  const succeeded = (): void => {
    if (failures > 0) log.info({ failures }, 'embeddings work again')
    failures = 0
    notBefore = 0
    failure = null
  }
  const embedBatch = async (source: EmbeddingSource, batch: readonly PendingText[]): Promise<boolean> => {
    try {
      const found = await source.embed(
        batch.map(({ text }) => text),
        source.ended,
      )
      const embedded = batch.map((pending, index) => ({
        ...pending,
        vector: found[index] ?? new Float32Array(),
      }))
      if (!vectors.store(embedded))
        throw new Problem('model-failed', { detail: 'The vectors have an unsupported length.' })
      succeeded()
      return true
    } catch (error) {
      if (source.ended.aborted) return false
      failed(error)
      if (isRefusal(error)) vectors.markFailed(batch.map(({ id }) => id))
      return false
    }
  }
  const workUntilDone = async (source: EmbeddingSource): Promise<void> => {
    try {
      while (!source.ended.aborted) {
        const waitMs = notBefore - clock.now()
        if (waitMs > 0) await clock.sleep(waitMs, source.ended)
        const batch = nextBatch(vectors.pending(embedBatchMax))
        if (batch.length === 0) return
        await embedBatch(source, batch)
      }
    } catch (error) {
      if (!source.ended.aborted)
        log.error({ err: error }, 'internal error while embedding facts; the next run continues')
    }
  }
  return {
    work: (source) => {
      if (working?.run === source.ended) return working.done
      const before = working?.done ?? Promise.resolve()
      const mine = {
        run: source.ended,
        done: before
          .then(() => workUntilDone(source))
          .finally(() => {
            if (working === mine) working = null
          }),
      }
      working = mine
      return mine.done
    },
    question: async (source, text, signal) => {
      if (clock.now() < notBefore) return null
      const over = AbortSignal.any([signal, source.ended])
      try {
        const [vector] = await inTime(clock, questionWaitMs, (late) =>
          source.embed([text], AbortSignal.any([over, late])),
        )
        succeeded()
        return vector ?? null
      } catch (error) {
        signal.throwIfAborted()
        if (!over.aborted) failed(error)
        return null
      }
    },
    isResting: () => clock.now() < notBefore,
    failure: () => failure,
  }
}

async function inTime<T>(clock: Clock, maxMs: number, work: (late: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController()
  const timer = new AbortController()
  const timeUp = clock.sleep(maxMs, timer.signal).then(
    () => late.abort(new Error(`no embedding within ${maxMs} ms`)),
    () => undefined,
  )
  try {
    return await work(late.signal)
  } finally {
    timer.abort()
    await timeUp
  }
}

/** Pure. Milliseconds to wait after this many failures in a row. */
export function waitAfter(failures: number): number {
  return backOffMs[Math.min(failures, backOffMs.length - 1)]! // the index is inside the list
}

/** Pure. Texts that were rejected together are tried one by one, so that one of them does not block the others. */
export function nextBatch(pending: readonly PendingText[]): readonly PendingText[] {
  return (pending[0]?.failures ?? 0) > 0
    ? pending.slice(0, 1)
    : pending.filter(({ failures }) => failures === 0)
}

/** True if the model rejected these texts; other errors are transport problems that the texts did not cause. */
function isRefusal(error: unknown): boolean {
  return error instanceof Problem && !problemCatalog[error.code].retryable
}
