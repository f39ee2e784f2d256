import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { chatCompletionRequestSchema } from '@flotilla/protocol/llm-exchange'
import { Problem } from '@flotilla/protocol/problem'
import { readJsonDocument, readTextFile } from '@flotilla/foundation/config'
import { cassetteNamePattern, cassetteSchema } from '../recording/cassette.ts'
import type { Cassette } from '../recording/cassette.ts'
import type { LlmProvider } from '../llm-provider.ts'
import { playCassette } from '../recording/play-cassette.ts'
import { scriptedChunks, scriptedCompletion } from './scripted-reply.ts'

interface ScriptedProviderDeps {
  /** Folders searched in this order; the owner's cassettes come before the shipped ones. */
  readonly folders: readonly string[]
  /** The cassette for every model name; null uses the model's name as the cassette's name. */
  readonly cassette: string | null
  readonly clock: Clock
  readonly newId: NewId
}

/** Plays cassettes. The provider is free and has no state: each answer follows from the conversation alone. */
export function createScriptedProvider(deps: ScriptedProviderDeps): LlmProvider {
  return {
    forms: new Set(['chat']),
    async complete(request, { signal }) {
      const name = deps.cassette ?? request.model
      const cassette = await loadCassette(deps.folders, name)
      const { messages } = chatCompletionRequestSchema.parse({ ...request.parameters, model: request.model })
      const turn = playCassette(cassette, request.agentId, messages)
      await deps.clock.sleep(turn.delayMs, signal).catch(() => {})
      signal.throwIfAborted()
      const reply = {
        turn,
        id: deps.newId('msg'),
        callIds: turn.toolCalls.map(() => deps.newId('call')),
        model: request.model,
        createdSeconds: Math.floor(deps.clock.now() / 1000),
        promptChars: request.body.length,
      }
      return {
        status: 200,
        contentType: request.stream ? 'text/event-stream' : 'application/json',
        retryAfterSeconds: null,
        body: bytesOf(request.stream ? scriptedChunks(reply) : [scriptedCompletion(reply)], signal),
        discard: () => {},
      }
    },
    async modelNames() {
      if (deps.cassette !== null) return [deps.cassette]
      const names = await Promise.all(deps.folders.map(cassettesIn))
      return [...new Set(names.flat())].toSorted()
    },
    close: async () => {},
  }
}

async function* bytesOf(texts: Iterable<string>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  for (const text of texts) {
    signal.throwIfAborted()
    yield encoder.encode(text)
  }
}

async function loadCassette(folders: readonly string[], name: string): Promise<Cassette> {
  if (!cassetteNamePattern.test(name)) throw refused(`${name.slice(0, 100)} is not the name of a cassette`)
  for (const folder of folders) {
    const text = await readTextFile(join(folder, `${name}.json`))
    if (text === null) continue
    const reading = readJsonDocument(text, cassetteSchema)
    if (reading.ok) return reading.document.value
    throw refused(`${name}.json line ${reading.line}: ${reading.reason}`)
  }
  throw refused(`there is no cassette ${name}`)
}

async function cassettesIn(folder: string): Promise<string[]> {
  try {
    const files = await readdir(folder)
    return files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

function refused(detail: string): Problem {
  return new Problem('provider-refused', { detail: `cassette: ${detail}` })
}
