import { createHash } from 'node:crypto'
import { readSaidAnswer } from '../models/index.ts'
import type { ProviderRequest } from '../models/index.ts'
import type { GroupedCommit } from '@flotilla/foundation/storage'
import { cleanedInPieces, keptMessages } from './exchange.ts'
import type { KeptMessage } from './exchange.ts'
import type { ExchangeRow, ExchangeTable } from './exchange-table.ts'
import type { Clean, Pieces } from './in-pieces.ts'
import { recordLimits } from './record-limits.ts'

/** Runs whose last exchange is remembered; the next exchange of any other run is stored in full. */
const liveRunsMax = 500

/** A received answer with the settings at that time; the write queue stores it later. */
export interface Heard {
  readonly request: ProviderRequest
  readonly runId: string
  readonly purpose: string
  readonly text: string
  readonly at: number
  readonly turn: number
  readonly mark: number
  /** Removes the secrets known at the time of the answer; a read also removes the secrets known at its own time. */
  readonly clean: Clean
}

/** What the recorder stores of an answer; null if it stores nothing. */
export type Kept = { readonly row: ExchangeRow; readonly bytes: number } | { readonly cut: string } | null

export interface LiveRun {
  number: number
  bytes: number
  /** The number of messages, counted in full for each exchange. */
  messages: number
  /** For each purpose, the last exchange and a digest of each of its messages. */
  readonly last: Map<string, { readonly number: number; readonly digests: readonly string[] }>
}

/** The state of the recording of all runs. */
export interface Recording {
  readonly table: Pick<ExchangeTable, 'sizeOf' | 'messagesOf'>
  readonly commits: Pick<GroupedCommit, 'flush'>
  readonly live: Map<string, LiveRun>
  /** Bytes of all records. */
  total: number
}

/** Decides what to store of an answer: only what is new since the last exchange for the same purpose. */
export function* keepExchange(
  recording: Recording,
  { request, runId, purpose, text, at, turn, clean }: Heard,
): Pieces<Kept> {
  const answer = readSaidAnswer(text)
  yield text.length
  if (answer.content === '' && answer.calls.length === 0) return null
  const run = liveRun(recording, runId)
  if (run.number + 1 >= recordLimits.exchangesPerRunMax)
    return { cut: `the run has more than ${recordLimits.exchangesPerRunMax} answers` }
  const messages = keptMessages(request.parameters)
  yield request.body.length
  if (run.messages + messages.length > recordLimits.messagesPerRunMax)
    return { cut: `the run has more than ${recordLimits.messagesPerRunMax} messages` }
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
    answer: yield* cleanedInPieces({ content: answer.content, calls: [...answer.calls] }, clean),
  }
  const bytes = Buffer.byteLength(JSON.stringify([row.news, row.answer]))
  if (run.bytes + bytes > recordLimits.runMaxBytes)
    return { cut: `the record is longer than ${recordLimits.runMaxBytes} bytes` }
  run.number += 1
  run.bytes += bytes
  run.messages += messages.length
  run.last.set(purpose, { number: row.number, digests })
  recording.total += bytes
  return { row, bytes }
}

function liveRun({ table, commits, live }: Recording, runId: string): LiveRun {
  const known = live.get(runId)
  if (known) return known
  if (live.size >= liveRunsMax) live.delete(live.keys().next().value ?? '')
  // Writes the waiting exchanges first, so that the following sizes include them.
  commits.flush()
  const fresh: LiveRun = { ...table.sizeOf(runId), messages: table.messagesOf(runId), last: new Map() }
  live.set(runId, fresh)
  return fresh
}

function digestOf(message: KeptMessage): string {
  return createHash('sha1').update(JSON.stringify(message)).digest('base64')
}

function commonLength(before: readonly string[], now: readonly string[]): number {
  const differs = now.findIndex((digest, at) => before[at] !== digest)
  return differs === -1 ? now.length : differs
}

/** Returns names with a short digest of each definition, enough to detect another definition. */
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

/** The maximum number of tools of one model call whose hashes are stored. */
const toolsMax = 500
