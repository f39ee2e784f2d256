import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import type { LanguageModel, ModelRequest } from '../llm/language-model.ts'
import { aContextKeeper, aModelFactStore } from '../testing/context-parts.ts'
import { aState, noMesh, noProvenance } from '../testing/loop-parts.ts'
import type { ContextTurn } from './context-turn.ts'

const statedWords = "This model's maximum context length is 8192 tokens."
const request = { notices: [], mayCallTools: true, answerTokensMax: null, onText: () => undefined }
/** Most of a window of 8192 tokens is used before the first message. */
const instructions = sanitizeForPrompt('Mind the harbour door, please. '.repeat(750))

/** Rejects with each of the given messages in turn, then accepts everything and reports this many prompt tokens. */
function aModel(refusals: readonly string[], promptTokens = 5900, refusedBy?: string) {
  const requests: ModelRequest[] = []
  const left = [...refusals]
  const model: LanguageModel = {
    answer: async (asking) => {
      requests.push(asking)
      const words = left.shift()
      if (words !== undefined) {
        const extra = refusedBy === undefined ? {} : { refused_by: refusedBy }
        throw new Problem('prompt-too-long', { detail: words, extra })
      }
      return {
        text: 'done',
        toolCalls: [],
        cutOff: false,
        tokens: 7,
        promptTokens,
        answeredBy: null,
        costUsd: 0,
      }
    },
  }
  return { model, asked: requests }
}

const aTurn = (model: LanguageModel): ContextTurn => ({
  state: aState('hi'),
  model,
  mesh: noMesh,
  systemPrompt: instructions,
  tools: [],
  signal: new AbortController().signal,
  provenance: () => noProvenance,
  pinFirst: false,
  saveCheckpoint: async () => undefined,
})

/** What is known of a model after earlier answers have confirmed the count. */
async function aTaughtStore(windowTokens: number | null = null) {
  const modelFacts = aModelFactStore(windowTokens)
  await aContextKeeper({ modelFacts }).ask(aTurn(aModel([]).model), request)
  return modelFacts
}
const learnedIn = (modelFacts: Awaited<ReturnType<typeof aTaughtStore>>) =>
  modelFacts.facts.get('test/model')?.learnedWindow ?? null

describe('a window that a refusal states', () => {
  test('a window that a refusal states is kept as it was stated, and the same question is asked again with a shorter answer', async () => {
    const modelFacts = await aTaughtStore()
    const { model, asked } = aModel([statedWords])
    await expect(aContextKeeper({ modelFacts }).ask(aTurn(model), request)).resolves.toMatchObject({
      text: 'done',
    })
    expect(asked[0]?.answerTokensMax).toBeNull()
    expect(asked.at(-1)?.messages).toEqual(asked[0]?.messages)
    expect(asked.at(-1)?.answerTokensMax).toBeLessThan(8192 - 5000)
    expect(learnedIn(modelFacts)).toMatchObject({ tokens: 8192, isStated: true })
  })

  test.each([
    ['said once', [statedWords]],
    ['said four times', Array.from({ length: 4 }, () => statedWords)],
    ['said without a number', ['prompt is too long']],
    ['said as absurdity', ['maximum context length is 5 tokens', 'maximum context length is 0 tokens']],
    ['smaller than the instructions', ['maximum context length is 2500 tokens']],
  ])('%s stops no later run', async (_how, refusals) => {
    const modelFacts = await aTaughtStore()
    await aContextKeeper({ modelFacts })
      .ask(aTurn(aModel(refusals).model), request)
      .catch(() => undefined)
    for (const run of [1, 2, 3]) {
      const later = aContextKeeper({ modelFacts }).ask(aTurn(aModel([]).model), request)
      await expect(later, `run ${run}`).resolves.toMatchObject({ text: 'done' })
    }
  })

  test('a window that a refusal states is never narrowed below what was stated by refusals without a number', async () => {
    const modelFacts = await aTaughtStore()
    const refusals = [statedWords, 'prompt is too long', 'prompt is too long']
    await aContextKeeper({ modelFacts })
      .ask(aTurn(aModel(refusals).model), request)
      .catch(() => undefined)
    expect(learnedIn(modelFacts)).toMatchObject({ tokens: 8192 })
  })

  test('a window that a refusal states is forgotten when the model takes a longer prompt', async () => {
    const modelFacts = await aTaughtStore()
    await aContextKeeper({ modelFacts }).ask(aTurn(aModel([statedWords]).model), request)
    expect(learnedIn(modelFacts)).toMatchObject({ tokens: 8192 })
    await aContextKeeper({ modelFacts }).ask(aTurn(aModel([], 8192).model), request)
    expect(learnedIn(modelFacts)).toMatchObject({ tokens: 8192 })
    await aContextKeeper({ modelFacts }).ask(aTurn(aModel([], 8193).model), request)
    expect(learnedIn(modelFacts)).toBeNull()
  })

  test('a window that a refusal states of a fallback model is not used for the requested model', async () => {
    const modelFacts = await aTaughtStore(128_000)
    const { model } = aModel([statedWords], 5900, 'other/small')
    await aContextKeeper({ modelFacts })
      .ask(aTurn(model), request)
      .catch(() => undefined)
    expect(learnedIn(modelFacts)).toBeNull()
  })

  test('a window that a refusal states of an unknown model replaces the default', async () => {
    const modelFacts = await aTaughtStore()
    const words = "This model's maximum context length is 131072 tokens."
    await aContextKeeper({ modelFacts })
      .ask(aTurn(aModel([words]).model), request)
      .catch(() => undefined)
    expect(learnedIn(modelFacts)).toMatchObject({ tokens: 131_072, isStated: true })
  })
})
