import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { recordLimits } from '@flotilla/protocol/limits'
import type { Settings } from '../config/index.ts'
import { createScrubs, redactInSteps } from '../credentials/index.ts'
import type { Secret, Vault } from '../credentials/index.ts'
import { readSaidAnswer } from '../models/index.ts'
import type { LlmProvider, ProviderRequest } from '../models/index.ts'
import type { Log } from '../platform/index.ts'
import { createGroupedCommit } from '../storage/index.ts'
import type { Database } from '../storage/index.ts'
import { cleanedInPieces, keptMessages } from './exchange.ts'
import type { KeptMessage } from './exchange.ts'
import type { ExchangeRow, ExchangeTable } from './exchange-table.ts'
import type { Clean, Pieces } from './in-pieces.ts'
import { createPieceQueue } from './piece-queue.ts'

/**
 * Keeps what agents say to models in their runs, and what they hear: of each exchange only what is new since the one
 * before, without the values of any credential and without what looks like a key, within `recordLimits` and the owner's
 * settings. What was heard is cleaned and written after the call, in pieces between which the mesh does everything else. It
 * decides nothing and fails nothing: a call whose exchange cannot be kept is answered all the same, and the
 * record says that it is not whole. So it does where the mesh was killed in between: that an answer was heard stands on the
 * disk before its end is told, and until the exchange stands there.
 */
export interface RunRecorder {
  /** Once, before anything is heard: what the life before heard and did not write is named in the records. */
  recover(): void
  /** The same provider, with an ear on it. */
  wrap(provider: LlmProvider): LlmProvider
  /** By what is a secret now. */
  cleaner(): Clean
  /** A run that has ended says no more. */
  forget(runId: string): void
  /** Once a minute. */
  maintain(): void
  /** Until all that was heard so far is written; before the database closes, and before somebody reads. */
  written(): Promise<void>
}

/** Bytes of one answer that are waited for; a longer one is not kept. */
const answerMaxBytes = 2 * 1024 * 1024
/** Runs whose last exchange is remembered; of another the next exchange is kept whole. */
const liveRunsMax = 500
const dayMs = 24 * 3600 * 1000

/** An answer as it was heard, with what counted at that moment: it is written when its turn has come. */
interface Heard {
  readonly request: ProviderRequest
  readonly runId: string
  readonly purpose: string
  readonly text: string
  readonly at: number
  readonly turn: number
  readonly mark: number
  /** By what was a secret then; whoever reads cleans by what is one now. */
  readonly clean: Clean
}

/** What is to be written of an answer; null for nothing. */
type Kept = { readonly row: ExchangeRow; readonly bytes: number } | { readonly cut: string } | null

interface LiveRun {
  number: number
  bytes: number
  /** In all its exchanges when they are whole. */
  messages: number
  /** By purpose: the last exchange, and a digest of each of its messages. */
  readonly last: Map<string, { readonly number: number; readonly digests: readonly string[] }>
}

export function createRunRecorder(deps: {
  readonly database: Database
  readonly table: ExchangeTable
  readonly vault: Pick<Vault, 'system' | 'agentTier' | 'names'>
  readonly settings: () => Pick<Settings, 'run_records'>
  readonly clock: Clock
  readonly log: Log
}): RunRecorder {
  const { table, clock } = deps
  const commits = createGroupedCommit(deps.database)
  const scrubFor = createScrubs()
  const queue = createPieceQueue(notKept)
  const live = new Map<string, LiveRun>()
  let total = table.bytes()
  let marks = 0

  function notKept(error: unknown, runId?: string): void {
    deps.log.warn(
      { runId, err: error },
      'an exchange of a run with its model was not recorded; a replay of the run lacks that step',
    )
  }

  const maxBytes = () => deps.settings().run_records.max_mb * 1024 * 1024

  const isOn = () => deps.settings().run_records.days > 0

  function secrets(): readonly Secret[] {
    const { system, agent } = deps.vault.names()
    const found = [
      ...system.map((name) => deps.vault.system(name)),
      ...agent.map((name) => deps.vault.agentTier(name)),
    ]
    return found.filter((secret) => secret !== undefined)
  }

  let lastHeld: readonly Secret[] = []
  let lastClean: Clean | null = null

  /** The same function for as long as the same values are held. */
  function cleaner(): Clean {
    const held = secrets()
    const isSame = held.length === lastHeld.length && held.every((secret, at) => secret === lastHeld[at])
    if (lastClean && isSame) return lastClean
    const scrub = scrubFor(held)
    lastHeld = held
    lastClean = function* clean(words) {
      return yield* redactInSteps(yield* scrub.inSteps(words), held)
    }
    return lastClean
  }

  function runOf(runId: string): LiveRun {
    const known = live.get(runId)
    if (known) return known
    if (live.size >= liveRunsMax) live.delete(live.keys().next().value ?? '')
    // What waits to be written counts as well.
    commits.flush()
    const fresh: LiveRun = { ...table.sizeOf(runId), messages: table.messagesOf(runId), last: new Map() }
    live.set(runId, fresh)
    return fresh
  }

  /** Resolves once a mesh that is killed from here on would know of it. */
  async function hear(request: ProviderRequest, text: string): Promise<void> {
    const { ofRun } = request
    if (!ofRun) return
    const { runId, purpose } = ofRun
    const turn = table.turnOf(runId)
    if (turn === null) return
    const mark = (marks += 1)
    const heard: Heard = { request, runId, purpose, text, at: clock.now(), turn, mark, clean: cleaner() }
    const isTaken = queue.add(() => write(heard), text.length + request.body.length)
    // Committed before what the queue comes to, which begins later.
    if (isTaken) await commits.add(() => table.mark(mark, runId))
    else await cut(runId, 'more was said at the same time than the mesh could write down')
  }

  function* write(heard: Heard): Pieces<void> {
    const { runId, mark } = heard
    let kept: Kept
    try {
      kept = yield* keep(heard)
    } catch (error) {
      notKept(error, runId)
      kept = { cut: 'an answer could not be written down' }
    }
    commit(runId, () => {
      if (kept !== null && 'cut' in kept) table.cut(runId, kept.cut)
      if (kept !== null && 'row' in kept) table.insert(kept.row, kept.bytes)
      table.unmark(mark)
    })
    if (total > maxBytes()) commit(runId, shrink)
  }

  function* keep({ request, runId, purpose, text, at, turn, clean }: Heard): Pieces<Kept> {
    const said = readSaidAnswer(text, request.stream)
    yield text.length
    if (said.content === '' && said.calls.length === 0) return null
    const run = runOf(runId)
    if (run.number + 1 >= recordLimits.exchangesPerRunMax)
      return { cut: `it has more than ${recordLimits.exchangesPerRunMax} answers` }
    const messages = keptMessages(request.parameters)
    yield request.body.length
    if (run.messages + messages.length > recordLimits.messagesPerRunMax)
      return { cut: `it has more than ${recordLimits.messagesPerRunMax} messages` }
    const digests: string[] = []
    for (const message of messages) {
      digests.push(digestOf(message))
      yield message.content.length + 1
    }
    const before = run.last.get(purpose) ?? null
    const kept = before ? commonLength(before.digests, digests) : 0
    const news: KeptMessage[] = []
    for (const message of messages.slice(kept)) news.push(yield* cleanedInPieces(message, clean))
    const row = {
      runId,
      number: run.number + 1,
      agentId: request.agentId,
      at,
      turn,
      purpose,
      model: request.model,
      after: kept > 0 && before ? before.number : null,
      kept,
      news,
      tools: toolMarks(request.parameters['tools']),
      answer: yield* cleanedInPieces({ content: said.content, calls: [...said.calls] }, clean),
    }
    const bytes = Buffer.byteLength(JSON.stringify([row.news, row.answer]))
    if (run.bytes + bytes > recordLimits.runMaxBytes)
      return { cut: `it is longer than ${recordLimits.runMaxBytes} bytes` }
    run.number += 1
    run.bytes += bytes
    run.messages += messages.length
    run.last.set(purpose, { number: row.number, digests })
    total += bytes
    return { row, bytes }
  }

  function shrink(): void {
    // A tenth below the bound, so that it is not done again for each exchange.
    table.shrink(maxBytes() * 0.9, maxBytes() * recordLimits.agentShareMax)
    total = table.bytes()
  }

  function cut(runId: string, reason: string): Promise<void> {
    return commits.add(() => table.cut(runId, reason))
  }

  function commit(runId: string, work: () => void): void {
    commits.add(work).catch((error: unknown) => {
      live.delete(runId)
      notKept(error, runId)
    })
  }

  return {
    recover: () => {
      deps.database.transaction(() => {
        const reason = 'the mesh was stopped before it had written down an answer that it heard'
        for (const runId of table.takeMarked()) table.cut(runId, reason)
      })
    },
    wrap: (provider) => ({
      ...provider,
      complete(request, options) {
        const answer = provider.complete(request, options)
        if (!request.ofRun || request.form !== 'chat') return answer
        const { runId } = request.ofRun
        const listen = async (text: string | null): Promise<void> => {
          try {
            if (text === null) await cut(runId, `an answer was longer than ${answerMaxBytes} bytes`)
            else await hear(request, text)
          } catch (error) {
            notKept(error, runId)
          }
        }
        return answer.then((reply) =>
          reply.status === 200 && isOn() ? { ...reply, body: tee(reply.body, listen) } : reply,
        )
      },
    }),
    cleaner,
    forget: (runId) => {
      // Behind its last exchange, which may still be waiting.
      const isTaken = queue.add(function* forget() {
        live.delete(runId)
        yield 1
      }, 0)
      if (!isTaken) live.delete(runId)
    },
    maintain: () => {
      const { days } = deps.settings().run_records
      deps.database.transaction(() => {
        table.dropOlder(clock.now() - days * dayMs)
        shrink()
      })
    },
    written: async () => {
      await queue.done()
      commits.flush()
    },
  }
}

/** Passes every chunk on and hands over the whole text before the end is told; null for one that is too long. */
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

function digestOf(message: KeptMessage): string {
  return createHash('sha1').update(JSON.stringify(message)).digest('base64')
}

function commonLength(before: readonly string[], now: readonly string[]): number {
  const differs = now.findIndex((digest, at) => before[at] !== digest)
  return differs === -1 ? now.length : differs
}

/** Name and a short mark of each definition: enough to see that it is another one. */
function toolMarks(tools: unknown): Record<string, string> {
  if (!Array.isArray(tools)) return {}
  const marks = (tools as readonly unknown[]).flatMap((tool): [string, string][] => {
    const definition: unknown =
      typeof tool === 'object' && tool !== null ? Reflect.get(tool, 'function') : null
    const name: unknown =
      typeof definition === 'object' && definition !== null ? Reflect.get(definition, 'name') : null
    if (typeof name !== 'string') return []
    return [[name, createHash('sha1').update(JSON.stringify(definition)).digest('base64').slice(0, 8)]]
  })
  return Object.fromEntries(marks.slice(0, toolsMax))
}

const toolsMax = 500
