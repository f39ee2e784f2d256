import type { JsonObject } from '@flotilla/protocol/json-value'
import { chatCompletionRequestSchema } from '@flotilla/protocol/llm-exchange'
import type { ChatMessage } from '@flotilla/protocol/llm-exchange'
import { Problem } from '@flotilla/protocol/problem'
import type { Cassette, CassetteTrack, CassetteTurn } from './cassette.ts'
import { idPrefixes } from '@flotilla/protocol/ids'
import type { LlmProvider, ProviderReply, ProviderRequest } from '../llm-provider.ts'
import { triggerText } from './play-cassette.ts'
import { readAnswer } from './read-answer.ts'

/** Turns real conversations into a cassette. Everything is kept in memory until `stop`. */
export interface CassetteRecorder {
  /** Starts a recording. Throws the Problem `conflict` if one is running. */
  start(): void
  /** Ends the recording and returns its cassette. Throws the Problem `conflict` if none is running. */
  stop(): Cassette
  isRecording(): boolean
  /** Wraps a provider so that its calls are recorded while a recording runs. */
  wrap(provider: LlmProvider): LlmProvider
}

/** The bounds of a recording; later exchanges are left out, and the description says so. */
const exchangesMax = 1000
/** The maximum size of one recorded answer, and of a whole recording, in bytes. */
const recordedMaxBytes = 16 * 1024 * 1024
/** The part of a message that identifies it; a pattern also has a bound. */
const triggerMaxChars = 300

interface Exchange {
  readonly agentId: string
  readonly trigger: string
  readonly turnIndex: number
  readonly turn: CassetteTurn
}

interface Recording {
  readonly exchanges: Exchange[]
  bytes: number
  isCut: boolean
}

export function createCassetteRecorder(): CassetteRecorder {
  let recording: Recording | null = null

  return {
    start() {
      if (recording) throw new Problem('conflict', { detail: 'the mesh is already recording a cassette' })
      recording = { exchanges: [], bytes: 0, isCut: false }
    },
    stop() {
      if (!recording) throw new Problem('conflict', { detail: 'the mesh is not recording a cassette' })
      const cassette = cassetteOf(recording)
      recording = null
      return cassette
    },
    isRecording: () => recording !== null,
    wrap: (provider) => ({
      ...provider,
      // A call that started before the recording is not recorded.
      complete(request, options) {
        const into = recording
        const answer = provider.complete(request, options)
        if (into === null) return answer
        return answer.then((reply) =>
          reply.status === 200 ? { ...reply, body: tee(reply, (text) => keep(into, request, text)) } : reply,
        )
      },
    }),
  }
}

/** Passes every chunk on, and the whole text to `whole` at the end; an aborted or too long answer is dropped. */
async function* tee(reply: ProviderReply, whole: (text: string) => void): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of reply.body) {
    bytes += chunk.length
    if (bytes <= recordedMaxBytes) chunks.push(Uint8Array.from(chunk))
    yield chunk
  }
  if (bytes <= recordedMaxBytes) whole(Buffer.concat(chunks).toString('utf8'))
}

function keep(recording: Recording, request: ProviderRequest, text: string): void {
  const turn = readAnswer(text)
  if (turn === null) return
  const bytes = Buffer.byteLength(JSON.stringify(turn))
  if (recording.exchanges.length >= exchangesMax || recording.bytes + bytes > recordedMaxBytes) {
    recording.isCut = true
    return
  }
  const messages = messagesOf(request.parameters, request.model)
  recording.bytes += bytes
  recording.exchanges.push({
    agentId: request.agentId,
    trigger: triggerText(messages),
    turnIndex: turnIndexOf(messages),
    turn,
  })
}

/** Makes one track per agent and user message, with turns in order; the last version of a repeated turn counts. */
function cassetteOf(recording: Recording): Cassette {
  const tracks = new Map<string, { track: CassetteTrack; turns: CassetteTurn[] }>()
  for (const exchange of recording.exchanges) {
    const key = JSON.stringify([exchange.agentId, exchange.trigger])
    const known = tracks.get(key)
    if (known) {
      known.turns[exchange.turnIndex] = exchange.turn
      continue
    }
    const turns: CassetteTurn[] = []
    turns[exchange.turnIndex] = exchange.turn
    tracks.set(key, {
      turns,
      track: { agents: [exchange.agentId], when: patternFor(exchange.trigger), turns },
    })
  }
  return {
    version: 1,
    description: recording.isCut ? 'Recorded; cut at the bounds of a recording.' : 'Recorded.',
    // A conversation that began before the recording lacks turns, so it cannot be played.
    tracks: [...tracks.values()].filter(({ turns }) => !isSparse(turns)).map(({ track }) => track),
  }
}

function isSparse(turns: readonly CassetteTurn[]): boolean {
  return Array.from(turns).includes(undefined as never)
}

/** Ids differ in each run, so the pattern matches any id. */
const freshId = new RegExp(`\\b(${idPrefixes.join('|')})_[0-9a-f]{16}\\b`, 'g')

function patternFor(trigger: string): string {
  const isWhole = trigger.length <= triggerMaxChars
  const literal = trigger.slice(0, triggerMaxChars).replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
  return `^${literal.replace(freshId, String.raw`$1_\w+`)}${isWhole ? '$' : ''}`
}

function turnIndexOf(messages: readonly ChatMessage[]): number {
  const triggerAt = messages.findLastIndex((message) => message.role === 'user')
  return messages.slice(triggerAt + 1).filter((message) => message.role === 'assistant').length
}

function messagesOf(parameters: JsonObject, model: string): readonly ChatMessage[] {
  return chatCompletionRequestSchema.parse({ ...parameters, model }).messages
}
