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
import type { ExchangeTable } from './exchange-table.ts'
import type { Clean, Pieces } from './in-pieces.ts'
import { createPieceQueue } from './piece-queue.ts'

/**
 * Keeps what agents say to models in their runs, and what they hear: of each exchange only what is new since the one
 * before, without the values of any credential and without what looks like a key, within `recordLimits` and the owner's
 * settings. What was heard is cleaned and written after the call, in pieces between which the mesh does everything else. It
 * decides nothing and fails nothing: a call whose exchange cannot be kept is answered all the same, and the
 * record says that it is not whole.
 */
export interface RunRecorder {
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
  /** By what was a secret then; whoever reads cleans by what is one now. */
  readonly clean: Clean
}

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
  const queue = createPieceQueue((error) => {
    deps.log.warn({ err: error }, 'an exchange of a run with its model was not kept')
  })
  const live = new Map<string, LiveRun>()
  let total = table.bytes()

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

  function hear(request: ProviderRequest, text: string): void {
    const { ofRun } = request
    if (!ofRun) return
    const { runId, purpose } = ofRun
    const turn = table.turnOf(runId)
    if (turn === null) return
    const heard: Heard = { request, runId, purpose, text, at: clock.now(), turn, clean: cleaner() }
    const isTaken = queue.add(() => keep(heard), text.length + request.body.length)
    if (!isTaken) cut(runId, 'more was said at the same time than the mesh could write down')
  }

  function* keep({ request, runId, purpose, text, at, turn, clean }: Heard): Pieces<void> {
    const said = readSaidAnswer(text, request.stream)
    yield text.length
    if (said.content === '' && said.calls.length === 0) return
    const run = runOf(runId)
    if (run.number + 1 >= recordLimits.exchangesPerRunMax)
      return cut(runId, `it has more than ${recordLimits.exchangesPerRunMax} answers`)
    const messages = keptMessages(request.parameters)
    yield request.body.length
    if (run.messages + messages.length > recordLimits.messagesPerRunMax)
      return cut(runId, `it has more than ${recordLimits.messagesPerRunMax} messages`)
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
      return cut(runId, `it is longer than ${recordLimits.runMaxBytes} bytes`)
    run.number += 1
    run.bytes += bytes
    run.messages += messages.length
    run.last.set(purpose, { number: row.number, digests })
    total += bytes
    write(runId, () => void table.insert(row, bytes))
    if (total > maxBytes()) write(runId, shrink)
  }

  const maxBytes = () => deps.settings().run_records.max_mb * 1024 * 1024

  function shrink(): void {
    // A tenth below the bound, so that it is not done again for each exchange.
    table.shrink(maxBytes() * 0.9, maxBytes() * recordLimits.agentShareMax)
    total = table.bytes()
  }

  function cut(runId: string, reason: string): void {
    write(runId, () => table.cut(runId, reason))
  }

  function write(runId: string, work: () => void): void {
    commits.add(work).catch((error: unknown) => {
      live.delete(runId)
      deps.log.warn({ runId, err: error }, 'an exchange of a run with its model was not kept')
    })
  }

  return {
    wrap: (provider) => ({
      ...provider,
      complete(request, options) {
        const answer = provider.complete(request, options)
        if (!request.ofRun || request.form !== 'chat') return answer
        const { runId } = request.ofRun
        const listen = (text: string | null): void => {
          try {
            if (text === null) cut(runId, `an answer was longer than ${answerMaxBytes} bytes`)
            else hear(request, text)
          } catch (error) {
            deps.log.warn({ runId, err: error }, 'an exchange of a run with its model was not kept')
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
  whole: (text: string | null) => void,
): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes <= answerMaxBytes) chunks.push(Uint8Array.from(chunk))
    yield chunk
  }
  whole(bytes <= answerMaxBytes ? Buffer.concat(chunks).toString('utf8') : null)
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
