import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerWhole, chunkEvent, refuse, startLlmUpstream, usageEvent } from '../support/llm-upstream.ts'
import type { UpstreamCall } from '../support/llm-upstream.ts'
import type { Chance } from './chance.ts'
import type { CallFact, BilledFact } from './facts.ts'
import { nextTurn, readConversation, outcomeOf } from './read-conversation.ts'
import type { SaidMessage } from './read-conversation.ts'
import { callFor, callId, idToModel } from './steps.ts'
import type { StepName, ToolCall } from './steps.ts'

/**
 * US dollars for a million tokens, and the same in nano-dollars for one. Output costs more than all input, so that
 * an answer that was billed but booked for its prompt alone is noticed.
 */
export const price = { input_per_mtok: 0.01, output_per_mtok: 1 }
const inputNano = 10
const outputNano = 1000
const answerTokens = 300

export interface PlannedModel {
  readonly baseUrl: string
  /** Tool calls that the model asked for, with the result of each. */
  calls(): readonly CallFact[]
  /** What the model charges for. */
  billed(): readonly BilledFact[]
  /** The most often that each steer appeared in one conversation. */
  steersSeen(): ReadonlyMap<string, number>
  /** The most often that the answer to each message appeared in one conversation, by the call that sent it. */
  answersSeen(): ReadonlyMap<string, number>
  close(): Promise<void>
}

/**
 * A provider on loopback that follows the plan in the conversation, step by step. It numbers its answers and
 * reports the number as the tokens of the prompt, so that each answer can be found where it was booked. It is slow
 * at times, and fails at times.
 */
export async function startPlannedModel(options: {
  readonly chance: Chance
  /** Address of the server that counts external requests. */
  readonly outside: string
}): Promise<PlannedModel> {
  const { chance } = options
  const upstream = await startLlmUpstream()
  const calls = new Map<string, CallFact>()
  const billed: BilledFact[] = []
  const steersSeen = new Map<string, number>()
  const answersSeen = new Map<string, number>()
  let answers = 0

  function record(messages: readonly SaidMessage[]): void {
    const facts = readConversation(messages)
    for (const [id, words] of facts.results) {
      const call = calls.get(id)
      if (call) calls.set(id, { ...call, told: outcomeOf(words), words: words.slice(0, 300) })
    }
    keepMost(steersSeen, facts.steers)
    keepMost(answersSeen, facts.answers)
  }

  function keepMost(most: Map<string, number>, counts: ReadonlyMap<string, number>): void {
    for (const [id, times] of counts) most.set(id, Math.max(times, most.get(id) ?? 0))
  }

  function ask(call: { name: StepName; id: string; marker: string }): void {
    calls.set(call.id, { id: call.id, marker: call.marker, step: call.name, told: null, words: '' })
  }

  upstream.answerWith(async (call, response) => {
    const messages = call.body['messages'] as readonly SaidMessage[] // the mesh sends this request
    record(messages)
    if (chance.percent(3)) {
      refuse(response, 500, { message: 'out of order for a moment' })
      return
    }
    answers += 1
    const number = answers
    const { marker, index, step, about } = nextTurn(messages)
    const bill: BilledFact = {
      number,
      marker,
      costNano: number * inputNano + answerTokens * outputNano,
      whole: false,
    }
    billed.push(bill)
    const id = callId(marker ?? 'none', index, number)
    const made =
      step && marker ? { id, ...callFor(step, { id, marker, index, outside: options.outside, about }) } : null
    if (made && step && marker) ask({ name: step.name, id, marker })
    await Promise.race([
      sleep(chance.percent(12) ? chance.between(300, 1500) : chance.between(2, 80)),
      call.closed,
    ])
    await speak({ call, response, number }, made, chance.between(0, 40))
    billed[billed.indexOf(bill)] = { ...bill, whole: response.writableFinished }
  })
  return {
    baseUrl: upstream.baseUrl,
    calls: () => [...calls.values()],
    billed: () => billed,
    steersSeen: () => steersSeen,
    answersSeen: () => answersSeen,
    close: () => upstream.close(),
  }
}

async function speak(
  to: { readonly call: UpstreamCall; readonly response: ServerResponse; readonly number: number },
  made: (ToolCall & { readonly id: string }) | null,
  pauseMs: number,
): Promise<void> {
  const { call, response, number } = to
  const usage = {
    prompt_tokens: number,
    completion_tokens: answerTokens,
    total_tokens: number + answerTokens,
  }
  if (call.body['stream'] !== true) {
    answerWhole(response, { role: 'assistant', content: 'Nothing is planned.' }, usage)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunkEvent({ role: 'assistant', content: made ? '' : 'All of it is done.' }))
  await sleep(pauseMs)
  if (made) {
    const named = { name: made.name, arguments: JSON.stringify(made.arguments) }
    const id = idToModel(made.id)
    response.write(chunkEvent({ tool_calls: [{ index: 0, id, type: 'function', function: named }] }))
  }
  response.write(chunkEvent({}, made ? 'tool_calls' : 'stop'))
  response.write(usageEvent(usage))
  await new Promise<void>((resolve) => {
    response.once('close', () => resolve())
    response.end('data: [DONE]\n\n')
  })
}
