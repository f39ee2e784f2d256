import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { stateFolder } from '../door-token.ts'
import type { Log } from '@flotilla/protocol/json-log'
import { createEmbeddingQueue, embedBatchMax } from './embedding-queue.ts'
import type { EmbeddingSource } from './embed-texts.ts'
import type { EmbeddingQueue } from './embedding-queue.ts'
import type { Fact, NewFact } from './fact.ts'
import { openMemoryDatabase } from './memory-database.ts'
import { createMemoryStore } from './memory-store.ts'
import type {
  FactPage,
  FactQuestion,
  FoundFact,
  ListedFacts,
  MemoryStore,
  SavedFact,
} from './memory-store.ts'
import type { Trust } from './trust.ts'
import { createVectorIndex } from './vector-index.ts'
import type { VectorIndex } from './vector-index.ts'

/** How long a save waits for its vector before it leaves it to the queue. */
const saveWaitMs = 3000

/** How the facts were found, or can be: by words and meaning, or by words only and the reason. */
export type SearchWay =
  | { readonly kind: 'words-and-meaning'; readonly unembedded: number }
  | { readonly kind: 'words'; readonly why: string }

export interface MemoryAnswer {
  readonly facts: readonly FoundFact[]
  readonly way: SearchWay
  readonly categories: readonly string[]
}

/** Facts that outlive conversations. Nothing is opened, and SQLite is not loaded, before the first use. */
export interface Memory {
  search(
    question: Omit<FactQuestion, 'vector'>,
    source: EmbeddingSource | null,
    signal: AbortSignal,
  ): Promise<MemoryAnswer>
  save(fact: NewFact, source: EmbeddingSource | null): Promise<SavedFact & { way: SearchWay }>
  /**
   * Saves facts that parts of the agent found automatically. Saves none after a failed run, because its text is
   * unreliable.
   */
  saveFacts(
    facts: readonly NewFact[],
    run: { runOk: boolean; source: EmbeddingSource | null },
  ): Promise<{ saved: number; refused: number }>
  forget(which: { id: number } | { key: string }, by: Trust): Promise<Fact>
  /** Lists facts for people, newest first; unlike a search, this does not reinforce them. */
  list(page: FactPage): Promise<ListedFacts>
  close(): Promise<void>
}

interface OpenMemory {
  readonly store: MemoryStore
  readonly vectors: VectorIndex | null
  readonly queue: EmbeddingQueue | null
  /** Why facts get no vectors; null if they can get them. */
  readonly why: string | null
  close(): void
}

export function createMemory(deps: {
  dataDirectory: string
  /** The model that makes vectors; null to search memory by words only. */
  embeddingModel: string | null
  clock: Clock
  log: Log
}): Memory {
  const { clock } = deps
  let opening: Promise<OpenMemory> | null = null
  const opened = (): Promise<OpenMemory> => {
    opening ??= openMemory(deps).catch((error: unknown) => {
      opening = null
      throw error
    })
    return opening
  }
  return {
    search: async (question, source, signal) => {
      const memory = await opened()
      const { store, vectors, queue } = memory
      const vector =
        queue === null || source === null ? null : await queue.question(source, question.text, signal)
      if (source !== null) void queue?.work(source)
      const usable = vector !== null && vectors !== null && vectors.fits(vector) ? vector : null
      const facts = store.search({ ...question, vector: usable })
      return { facts, way: wayOf(memory, usable !== null), categories: store.categories() }
    },
    save: async (fact, source) => {
      const memory = await opened()
      const { store, vectors, queue } = memory
      const saved = store.save(fact)
      if (queue !== null && source !== null && !queue.isResting() && isSoonDone(vectors)) {
        const timer = new AbortController()
        const timeUp = clock.sleep(saveWaitMs, timer.signal).catch(() => undefined)
        await Promise.race([queue.work(source), timeUp])
        timer.abort()
      } else if (source !== null) {
        void queue?.work(source)
      }
      return { ...saved, way: wayOf(memory, vectors?.has(saved.fact.id) === true) }
    },
    saveFacts: async (facts, { runOk, source }) => {
      if (!runOk || facts.length === 0) return { saved: 0, refused: 0 }
      const { store, queue } = await opened()
      let refused = 0
      for (const fact of facts) {
        try {
          store.save(fact)
        } catch (error) {
          refused += 1
          deps.log.warn({ err: error }, 'failed to save one fact in memory; the others are saved')
        }
      }
      if (queue !== null && source !== null) void queue.work(source)
      return { saved: facts.length - refused, refused }
    },
    forget: async (which, by) => (await opened()).store.forget(which, by),
    list: async (page) => (await opened()).store.list(page),
    close: async () => {
      const memory = await opening?.catch(() => null)
      opening = null
      memory?.close()
    },
  }
}

/** True if one call can embed all waiting texts, so that a save can wait for it. */
function isSoonDone(vectors: VectorIndex | null): boolean {
  return vectors !== null && vectors.pendingCount() <= embedBatchMax
}

function wayOf({ vectors, queue, why }: OpenMemory, byMeaning: boolean): SearchWay {
  if (byMeaning && vectors !== null) return { kind: 'words-and-meaning', unembedded: vectors.pendingCount() }
  return { kind: 'words', why: why ?? queue?.failure() ?? 'the embedding model has not answered yet' }
}

async function openMemory(deps: Parameters<typeof createMemory>[0]): Promise<OpenMemory> {
  const { clock, log, embeddingModel } = deps
  const database = await openMemoryDatabase(join(deps.dataDirectory, stateFolder, 'memory.db'), log)
  const vectors =
    database.hasVectors && embeddingModel !== null ? createVectorIndex(database, embeddingModel) : null
  const queue = vectors === null ? null : createEmbeddingQueue({ vectors, clock, log })
  const missing = database.hasVectors ? 'no embedding model is set' : 'the vector extension is not installed'
  const why = vectors === null ? missing : null
  const store = createMemoryStore({ database, vectors, clock })
  return { store, vectors, queue, why, close: () => database.close() }
}
