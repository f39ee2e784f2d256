import type { Clock } from '@flotilla/protocol/clock'
import type { Settings } from '@flotilla/foundation/config'
import type { Vault } from '@flotilla/egress/credentials'
import type { LlmProvider, ProviderRequest } from '../models/index.ts'
import type { Log } from '@flotilla/foundation/platform'
import { createGroupedCommit } from '@flotilla/foundation/storage'
import type { Database, GroupedCommit } from '@flotilla/foundation/storage'
import type { ExchangeTable } from './exchange-table.ts'
import type { Clean, Pieces } from './in-pieces.ts'
import { keepExchange } from './keep-exchange.ts'
import type { Heard, Kept, Recording } from './keep-exchange.ts'
import { createPieceQueue } from './piece-queue.ts'
import type { PieceQueue } from './piece-queue.ts'
import { createSecretCleaner } from './secret-cleaner.ts'
import { recordLimits } from './record-limits.ts'

/**
 * Records what agents send to models in their runs, and the answers. Of each exchange it stores only what is new
 * since the previous one, without credential values and without anything that looks like a key, within `recordLimits`
 * and the owner's settings. Exchanges are cleaned and written after the call, in pieces between which the mesh does
 * other work. The recorder decides nothing and fails nothing: a call whose exchange cannot be stored is still
 * answered, and the record says that it is incomplete. This also holds after a kill of the mesh: a mark on
 * the disk says that an answer was received, from before its end is reported until the exchange is stored.
 */
export interface RunRecorder {
  /**
   * Called once, before any answer is received: answers that the previous process received and did not write are
   * noted in the records.
   */
  recover(): void
  /** Wraps a provider so that its answers are recorded. */
  wrap(provider: LlmProvider): LlmProvider
  /** Returns a function that removes from a text the values that are secrets now. */
  cleaner(): Clean
  /** Frees the memory for a run that has ended. */
  forget(runId: string): void
  /** Deletes old records; called once a minute. */
  maintain(): void
  /** Resolves when everything received so far is written; before the database closes, and before a read. */
  written(): Promise<void>
}

/** The maximum size of a recorded answer, in bytes; longer ones are not recorded. */
const answerMaxBytes = 2 * 1024 * 1024
const dayMs = 24 * 3600 * 1000

export interface RunRecorderDeps {
  readonly database: Database
  readonly table: ExchangeTable
  readonly vault: Pick<Vault, 'system' | 'agentTier' | 'names'>
  readonly settings: () => Pick<Settings, 'run_records'>
  readonly clock: Clock
  readonly log: Log
}

interface Recorder extends Recording {
  readonly deps: RunRecorderDeps
  readonly table: ExchangeTable
  readonly commits: GroupedCommit
  readonly queue: PieceQueue
  readonly cleaner: () => Clean
  /** The number of the last received answer. */
  marks: number
}

export function createRunRecorder(deps: RunRecorderDeps): RunRecorder {
  const { table, database, clock } = deps
  const recorder: Recorder = {
    deps,
    table,
    commits: createGroupedCommit(database),
    queue: createPieceQueue((error) => notKept(deps, error)),
    cleaner: createSecretCleaner(deps.vault),
    live: new Map(),
    total: table.bytes(),
    marks: 0,
  }
  return {
    recover: () => {
      database.transaction(() => {
        const reason = 'the mesh was stopped before it had stored a model answer'
        for (const runId of table.takeMarked()) table.cut(runId, reason)
      })
    },
    wrap: (provider) => wrap(recorder, provider),
    cleaner: recorder.cleaner,
    forget: (runId) => {
      // The removal waits in the queue behind the run's last exchange, which may not be written yet.
      const isTaken = recorder.queue.add(function* forget() {
        recorder.live.delete(runId)
        yield 1
      }, 0)
      if (!isTaken) recorder.live.delete(runId)
    },
    maintain: () => {
      const { days } = deps.settings().run_records
      database.transaction(() => {
        table.dropOlder(clock.now() - days * dayMs)
        shrink(recorder)
      })
    },
    written: async () => {
      await recorder.queue.done()
      recorder.commits.flush()
    },
  }
}

function wrap(recorder: Recorder, provider: LlmProvider): LlmProvider {
  const { deps } = recorder
  return {
    ...provider,
    complete(request, options) {
      const answer = provider.complete(request, options)
      if (!request.ofRun || request.form !== 'chat') return answer
      const { runId } = request.ofRun
      const listen = async (text: string | null): Promise<void> => {
        try {
          if (text === null)
            await cut(recorder, runId, `a model answer was longer than ${answerMaxBytes} bytes`)
          else await receive(recorder, request, text)
        } catch (error) {
          notKept(deps, error, runId)
        }
      }
      return answer.then((reply) =>
        reply.status === 200 && deps.settings().run_records.days > 0
          ? { ...reply, body: tee(reply.body, listen) }
          : reply,
      )
    },
  }
}

/** Queues an answer. Resolves once the disk has a mark for it, so that after a kill the mesh knows what it lost. */
async function receive(recorder: Recorder, request: ProviderRequest, text: string): Promise<void> {
  const { table, commits, queue, cleaner, deps } = recorder
  const { ofRun } = request
  if (!ofRun) return
  const { runId, purpose } = ofRun
  const turn = table.turnOf(runId)
  if (turn === null) return
  const mark = (recorder.marks += 1)
  const at = deps.clock.now()
  const received: Heard = { request, runId, purpose, text, at, turn, mark, clean: cleaner() }
  const isTaken = queue.add(() => write(recorder, received), text.length + request.body.length)
  // The mark is added to a commit now, before the queue, which begins later, can write the exchange.
  if (isTaken) await commits.add(() => table.mark(mark, runId))
  else await cut(recorder, runId, 'model answers arrived faster than the mesh could store them')
}

function* write(recorder: Recorder, received: Heard): Pieces<void> {
  const { table, deps } = recorder
  const { runId, mark } = received
  let kept: Kept
  try {
    kept = yield* keepExchange(recorder, received)
  } catch (error) {
    notKept(deps, error, runId)
    kept = { cut: 'a model answer could not be stored' }
  }
  commit(recorder, runId, () => {
    if (kept !== null && 'cut' in kept) table.cut(runId, kept.cut)
    if (kept !== null && 'row' in kept) table.insert(kept.row, kept.bytes)
    table.unmark(mark)
  })
  if (recorder.total > maxBytes(deps)) commit(recorder, runId, () => shrink(recorder))
}

function shrink(recorder: Recorder): void {
  const most = maxBytes(recorder.deps)
  // Shrinks the records to a tenth below the limit, so that not every new exchange makes the mesh shrink them again.
  recorder.table.shrink(most * 0.9, most * recordLimits.agentShareMax)
  recorder.total = recorder.table.bytes()
}

function cut({ commits, table }: Recorder, runId: string, reason: string): Promise<void> {
  return commits.add(() => table.cut(runId, reason))
}

function commit(recorder: Recorder, runId: string, work: () => void): void {
  recorder.commits.add(work).catch((error: unknown) => {
    recorder.live.delete(runId)
    notKept(recorder.deps, error, runId)
  })
}

function maxBytes({ settings }: Pick<RunRecorderDeps, 'settings'>): number {
  return settings().run_records.max_mb * 1024 * 1024
}

function notKept({ log }: Pick<RunRecorderDeps, 'log'>, error: unknown, runId?: string): void {
  log.warn({ runId, err: error }, 'failed to record a model call of a run; a replay of the run lacks it')
}

/** Passes every chunk on, and calls `whole` with the text before the end is reported; with null if it is too long. */
async function* tee(
  body: AsyncIterable<Uint8Array>,
  whole: (text: string | null) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes <= answerMaxBytes) chunks.push(Uint8Array.from(chunk))
    yield chunk
  }
  await whole(bytes <= answerMaxBytes ? Buffer.concat(chunks).toString('utf8') : null)
}
