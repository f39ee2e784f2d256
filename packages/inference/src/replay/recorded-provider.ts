import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { scriptedChunks, scriptedCompletion } from '../models/index.ts'
import type { LlmProvider } from '../models/index.ts'
import { keptMessages } from './exchange.ts'
import { stepAskedFor } from './read-record.ts'
import type { RecordedRun } from './read-record.ts'
import type { Replay } from './replay-table.ts'

/**
 * A provider that gives the recorded answers of a run. The conversation alone determines the next answer, so nothing
 * is lost when a process is killed. The ids of its calls name the recorded calls. It costs nothing.
 */
export function createRecordedProvider(deps: {
  readonly replay: Replay
  readonly record: RecordedRun
  /** The question of the replaying run, as its agent sends it to the model. */
  readonly asked: string
  readonly clock: Clock
  readonly newId: NewId
}): LlmProvider {
  const { replay, record, asked: question } = deps
  return {
    forms: new Set(['chat']),
    async complete(request, { signal }) {
      const turn = record.turns[replay.turn]
      const at = turn ? stepAskedFor(keptMessages(request.parameters), { ...turn, asked: question }) : 0
      const step = record.steps[at]
      if (!turn || !step || at >= turn.to)
        throw refused(
          `the record of run ${replay.ofRun} ends with step ${turn?.to ?? 0}, but the replay asked for another step`,
        )
      const { content, calls } = step.exchange.answer
      const reply = {
        turn: { content: content === '' ? null : content, toolCalls: calls, delayMs: 0 },
        id: deps.newId('msg'),
        callIds: calls.map((_call, index) => `recorded_${at}_${index}`),
        model: request.model,
        createdSeconds: Math.floor(deps.clock.now() / 1000),
        promptChars: request.body.length,
      }
      signal.throwIfAborted()
      return {
        status: 200,
        contentType: request.stream ? 'text/event-stream' : 'application/json',
        retryAfterSeconds: null,
        body: bytesOf(request.stream ? scriptedChunks(reply) : [scriptedCompletion(reply)]),
        discard: () => {},
      }
    },
    modelNames: async () => [],
    close: async () => {},
  }
}

/** Refuses questions outside of a replay's conversation: a summary that was not recorded is made without a model. */
export const refusingProvider: LlmProvider = {
  forms: new Set(['chat']),
  complete: async () => {
    throw refused('a replay cannot call a model; it only uses its record')
  },
  modelNames: async () => [],
  close: async () => {},
}

async function* bytesOf(texts: Iterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  for (const text of texts) yield encoder.encode(text)
}

function refused(detail: string): Problem {
  return new Problem('provider-refused', { detail })
}
