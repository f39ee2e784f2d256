import { describe, expect, test } from 'vitest'
import { answerWhole, refuse } from '../../../../../tests/support/llm-upstream.ts'
import { completionBody, withModelPath } from '../../../../../tests/support/model-path.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import type { RunKind } from '@flotilla/protocol/run'

type Settings = Readonly<Record<string, unknown>>

const price = { input_per_mtok: 1, output_per_mtok: 2 }
const prices = {
  'openai/big': { price, context: 400_000 },
  'openai/cheap': { price, context: 20_000, max_output_tokens: 1000 },
  'openai/gpt-5-mini': { price },
}

const callerOf = (token: 'door' | 'program'): Caller => ({
  kind: 'agent',
  agentId: 'scout',
  token,
  run: {
    agentId: 'scout',
    runId: 'run_1',
    fence: 1,
    taskId: null,
    origin: { kind: 'heartbeat' } as never,
    budgetUsd: null,
    budgetTokens: null,
  },
})

/** Makes one call in a run of this kind, and returns what each attempt sent. */
async function sentIn(
  kind: RunKind,
  settings: Settings,
  call: {
    readonly purpose?: 'loop' | 'subagent' | 'aside'
    readonly token?: 'door' | 'program'
    readonly body?: object
    readonly refused?: string
    readonly model?: string
  } = {},
): Promise<readonly Settings[]> {
  const model = call.model ?? 'openai/big'
  const work = { kind, conversation: kind, willWait: () => false }
  const overrides = { workOf: () => work }
  return withModelPath({ settings, agentModel: model, overrides }, async ({ upstream, parts }) => {
    upstream.answerWith(({ body }, response) => {
      if (body['model'] === call.refused) refuse(response, 401, { message: 'no' })
      else answerWhole(response)
    })
    const bound = call.purpose === 'aside' && call.body === undefined ? { max_tokens: 1500 } : {}
    await parts.complete(callerOf(call.token ?? 'door'), {
      body: completionBody({ model, ...bound, ...call.body }),
      signal: new AbortController().signal,
      purpose: call.purpose ?? 'loop',
    })
    return upstream.calls.map(({ body }) => body)
  })
}

const modelsIn = (sent: readonly Settings[]) => sent.map(({ model }) => model)

describe('the model of a kind of run', () => {
  const chosen = { models: { ...prices, heartbeat: 'openai/cheap', compaction: 'openai/gpt-5-mini' } }

  test('a heartbeat and its sub-agents are answered by models.heartbeat, other runs by the model of the agent', async () => {
    expect(modelsIn(await sentIn('heartbeat', chosen))).toEqual(['cheap'])
    expect(modelsIn(await sentIn('heartbeat', chosen, { purpose: 'subagent' }))).toEqual(['cheap'])
    for (const kind of ['chat', 'task'] as const)
      expect(modelsIn(await sentIn(kind, chosen))).toEqual(['big'])
  })

  test('a chosen model that is a fallback of the own model comes first, and is called once', async () => {
    const both = {
      models: {
        ...prices,
        'openai/big': { price, context: 400_000, fallback: ['openai/cheap'] },
        heartbeat: 'openai/cheap',
      },
      agents: { scout: { models: ['openai/big', 'openai/cheap'] } },
    }
    expect(modelsIn(await sentIn('heartbeat', both))).toEqual(['cheap'])
    expect(modelsIn(await sentIn('heartbeat', both, { refused: 'cheap' }))).toEqual(['cheap', 'big'])
  })

  test('summaries and facts of any run are asked of models.compaction', async () => {
    for (const kind of ['chat', 'task', 'heartbeat'] as const)
      expect(modelsIn(await sentIn(kind, chosen, { purpose: 'aside' }))).toEqual(['gpt-5-mini'])
  })

  test('a call that is no short question without tools is part of the conversation, whatever purpose it states', async () => {
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]
    const answers = { chat: { max_output_tokens: 2000 } }
    for (const body of [{ max_tokens: 1500, tools }, { max_tokens: 1501 }, {}, { max_tokens: 1500, n: 2 }]) {
      const [sent] = await sentIn('chat', { ...chosen, answers }, { purpose: 'aside', body })
      expect(sent).toMatchObject({ model: 'big' })
      expect(sent?.['max_tokens']).toBe(Math.min(2000, 'max_tokens' in body ? body.max_tokens : 2000))
    }
  })

  test('without these settings the model of the agent answers', async () => {
    const plain = { models: prices }
    expect(modelsIn(await sentIn('heartbeat', plain))).toEqual(['big'])
    expect(modelsIn(await sentIn('chat', plain, { purpose: 'aside' }))).toEqual(['big'])
  })

  test('the model of the agent answers if the chosen one refuses, has no price or too small a window', async () => {
    expect(modelsIn(await sentIn('heartbeat', chosen, { refused: 'cheap' }))).toEqual(['cheap', 'big'])
    const unpriced = { models: { ...prices, heartbeat: 'openai/unknown-model' } }
    expect(modelsIn(await sentIn('heartbeat', unpriced))).toEqual(['big'])
    const unknown = { models: { ...prices, heartbeat: 'unknown/model' } }
    expect(modelsIn(await sentIn('heartbeat', unknown))).toEqual(['big'])
    const messages = [{ role: 'user', content: 'x'.repeat(58_000) }]
    expect(modelsIn(await sentIn('heartbeat', chosen, { body: { messages } }))).toEqual(['big'])
  })

  test('a program in the container gets the model that it names', async () => {
    expect(modelsIn(await sentIn('heartbeat', chosen, { token: 'program' }))).toEqual(['big'])
    expect(modelsIn(await sentIn('chat', chosen, { token: 'program', purpose: 'aside' }))).toEqual(['big'])
  })
})

describe('the answers of a kind of run', () => {
  const answers = {
    chat: { thinking: 'high', max_output_tokens: 4000 },
    heartbeat: { thinking: 'minimal' },
  }
  const set = {
    models: prices,
    answers,
    agents: { scout: { answers: { chat: { max_output_tokens: 900 }, task: { thinking: 'medium' } } } },
  }

  test("an agent's own settings of answers win one by one over those of the fleet", async () => {
    const [chat] = await sentIn('chat', set)
    expect(chat).toMatchObject({ reasoning_effort: 'high', max_tokens: 900 })
    const [task] = await sentIn('task', set)
    expect(task).toMatchObject({ reasoning_effort: 'medium' })
    const [heartbeat] = await sentIn('heartbeat', set)
    expect(heartbeat).toMatchObject({ reasoning_effort: 'minimal' })
  })

  test('a lower limit of the call itself, and an effort that it names, stay', async () => {
    const [sent] = await sentIn('chat', set, { body: { max_tokens: 20, reasoning_effort: 'low' } })
    expect(sent).toMatchObject({ max_tokens: 20, reasoning_effort: 'low' })
    expect(sent).not.toHaveProperty('max_completion_tokens')
  })

  test('a heartbeat thinks little with a model that thinks unasked, and other calls get no effort', async () => {
    const plain = { models: prices }
    const gpt = { model: 'openai/gpt-5-mini' }
    expect((await sentIn('heartbeat', plain, gpt))[0]).toMatchObject({ reasoning_effort: 'low' })
    expect((await sentIn('chat', plain, gpt))[0]).not.toHaveProperty('reasoning_effort')
    expect((await sentIn('heartbeat', plain))[0]).not.toHaveProperty('reasoning_effort')
  })

  test('questions beside the conversation and calls of programs are sent as they are', async () => {
    expect((await sentIn('chat', set, { purpose: 'aside' }))[0]).not.toHaveProperty('reasoning_effort')
    const [program] = await sentIn('chat', set, { token: 'program' })
    expect(program).not.toHaveProperty('reasoning_effort')
  })
})
