import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import type { LanguageModel, ModelRequest, PromptMessage } from '../llm/language-model.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { readLoopState } from '../loop/read-loop-state.ts'
import { aContextKeeper, aDailyLog, aFactKeeper, aModelFactStore } from '../testing/context-parts.ts'
import { aState, noMesh, noProvenance } from '../testing/loop-parts.ts'
import type { ContextTurn } from './context-turn.ts'
import { factsPrompt, isSummary, summaryPrompt } from './context-prompts.ts'
import { groupMessages } from './cut-groups.ts'
import { estimateMessage } from './estimate-tokens.ts'

const signal = new AbortController().signal
const system = sanitizeForPrompt('be good')
const request = { notices: [], mayCallTools: true, answerTokensMax: null, onText: () => undefined }

type Reply = string | Problem
/** Answers asides by their kind, and everything else with `done`; rejects what is longer than `limit` tokens. */
function aModel(
  replies: { facts?: Reply; summary?: Reply; limit?: number; says?: string; promptTokens?: number } = {},
) {
  const requests: ModelRequest[] = []
  const kindOf = (asking: ModelRequest): 'facts' | 'summary' | 'answer' => {
    const first = asking.messages[0]?.content
    return first === factsPrompt ? 'facts' : first === summaryPrompt ? 'summary' : 'answer'
  }
  const model: LanguageModel = {
    answer: async (asking) => {
      requests.push({ ...asking, messages: [...asking.messages] })
      const size = asking.messages.reduce((sum, message) => sum + estimateMessage(message), 0)
      if (replies.limit !== undefined && size > replies.limit) {
        throw new Problem('provider-refused', { detail: replies.says ?? 'context length exceeded' })
      }
      const kind = kindOf(asking)
      const reply =
        kind === 'answer' ? 'done' : (replies[kind] ?? (kind === 'facts' ? '[]' : 'What was said.'))
      if (reply instanceof Problem) throw reply
      const promptTokens = replies.promptTokens ?? 0
      return {
        text: reply,
        toolCalls: [],
        cutOff: false,
        tokens: 7,
        promptTokens,
        answeredBy: null,
        costUsd: 0.5,
      }
    },
  }
  const kinds = (): string[] => requests.map(kindOf)
  return { model, asked: requests, kinds }
}

let ids = 0
const group = (chars: number, calls = 1): PromptMessage[] => {
  const names = Array.from({ length: calls }, () => `call_${(ids += 1)}`)
  return [
    {
      role: 'assistant',
      content: sanitizeForPrompt(''),
      toolCalls: names.map((id) => ({ id, name: 'tool', arguments: '{}' })),
    },
    ...names.map((toolCallId): PromptMessage => ({
      role: 'tool',
      toolCallId,
      content: sanitizeForPrompt('word '.repeat(chars / 5)),
    })),
  ]
}
const groups = (count: number, chars: number, calls = 1): PromptMessage[] =>
  Array.from({ length: count }, () => group(chars, calls)).flat()

function aTurn(model: LanguageModel, messages: readonly PromptMessage[], pinFirst = false) {
  const state = aState('the question')
  state.messages.push(...messages)
  const saved: string[] = []
  const turn: ContextTurn = {
    state,
    model,
    mesh: noMesh,
    systemPrompt: system,
    tools: [],
    signal,
    provenance: () => noProvenance,
    pinFirst,
    saveCheckpoint: async (current) => void saved.push(JSON.stringify(current)),
  }
  return { turn, state, saved }
}

/** A window of which this many characters of conversation fill the given share. */
const windowFor = (messages: readonly PromptMessage[], share: number): number =>
  Math.ceil(messages.reduce((sum, message) => sum + estimateMessage(message), 20) / share)

describe('keeping a conversation within its window', () => {
  test('a short one is asked as it is', async () => {
    const { model, asked } = aModel()
    const { turn, saved } = aTurn(model, group(100))
    await aContextKeeper().ask(turn, request)
    expect(asked).toHaveLength(1)
    expect(asked[0]?.messages).toEqual([{ role: 'system', content: system }, ...turn.state.messages])
    expect(saved).toEqual([])
  })

  test('at 60 % facts are saved, once, and nothing is cut', async () => {
    const messages = groups(20, 1000)
    const factKeeper = aFactKeeper()
    const { model, kinds } = aModel({ facts: 'Here: ["the door is blue", 7, ""]' })
    const keeper = aContextKeeper({ factKeeper, modelFacts: aModelFactStore(windowFor(messages, 0.64)) })
    const { turn, state } = aTurn(model, messages)
    state.toolOutputs.push({ step: 1, tool: 'tool', input: {}, output: 'x', ok: true, duration_ms: 1 })
    await keeper.ask(turn, request)
    await keeper.ask(turn, request)
    expect(kinds()).toEqual(['facts', 'answer', 'answer'])
    expect(factKeeper.facts).toEqual(['the door is blue'])
    expect(state.messages).toHaveLength(messages.length + 1)
    expect(state).toMatchObject({ flushed: true, tokens: 7, costUsd: 0.5 })
  })

  test('facts of a stretch are asked for once though it is compacted later, or memory would hold them twice', async () => {
    const messages = groups(20, 1000)
    const factKeeper = aFactKeeper()
    const { model, kinds } = aModel({ facts: '["the door is blue"]' })
    const keeper = aContextKeeper({ factKeeper, modelFacts: aModelFactStore(windowFor(messages, 0.64)) })
    const { turn, state } = aTurn(model, messages)
    state.toolOutputs.push({ step: 1, tool: 'tool', input: {}, output: 'x', ok: true, duration_ms: 1 })
    await keeper.ask(turn, request)
    expect(kinds()).toEqual(['facts', 'answer'])
    state.messages.push(...groups(6, 1000))
    await keeper.ask(turn, request)
    expect(kinds().slice(2)).toEqual(['summary', 'answer'])
    expect(factKeeper.runs).toEqual([true])
    // Messages after the summary belong to another segment.
    expect(state.flushed).toBe(false)
    state.messages.push(...groups(20, 1000))
    await keeper.ask(turn, request)
    expect(kinds().slice(4)).toEqual(['facts', 'summary', 'answer'])
    expect(factKeeper.runs).toEqual([true, true])
  })

  test('nothing of a conversation in which all failed is kept as a fact', async () => {
    heedsLesson(106)
    const messages = groups(20, 1000)
    const factKeeper = aFactKeeper()
    const { model } = aModel({ facts: '["wrong"]' })
    const keeper = aContextKeeper({ factKeeper, modelFacts: aModelFactStore(windowFor(messages, 0.64)) })
    await keeper.ask(aTurn(model, messages).turn, request)
    expect(factKeeper).toMatchObject({ facts: [], runs: [false] })
  })

  test('at 70 % a summary takes the place of the oldest groups, and their words are on disk before', async () => {
    const messages = groups(40, 1000)
    const { dailyLog, entries, transcripts } = aDailyLog()
    const { model, asked, kinds } = aModel({ summary: 'They counted boats.' })
    const keeper = aContextKeeper({ dailyLog, modelFacts: aModelFactStore(windowFor(messages, 0.72)) })
    const { turn, state, saved } = aTurn(model, messages)
    await keeper.ask(turn, request)
    expect(kinds()).toEqual(['facts', 'summary', 'answer'])
    const shown = asked.at(-1)?.messages ?? []
    expect(shown[0]).toEqual({ role: 'system', content: system })
    expect(shown.filter(isSummary)).toHaveLength(1)
    expect(shown[1]?.content).toContain('They counted boats.')
    const [place] = [...transcripts.keys()]
    expect(shown[1]?.content).toContain(`workspace/memory/transcripts/${place}.md`)
    expect(shown[1]?.content).toContain('memory_search')
    expect(shown.some((message) => message.content === 'the question')).toBe(true)
    expect(shown.at(-1)).toBe(messages.at(-1))
    expect([...transcripts.values()][0]).toContain('word word')
    expect(entries[0]).toContain('They counted boats.')
    expect(readLoopState(JSON.parse(saved.at(-1) ?? ''))).toEqual(state)
  })

  test('what a summary smuggles in does not come back', async () => {
    heedsLesson(40)
    const messages = groups(40, 1000)
    const { model } = aModel({ summary: 'quiet\u{E0041}\u{E0042}\u202E words\u200B', facts: '["a\u202Eb"]' })
    const factKeeper = aFactKeeper()
    const keeper = aContextKeeper({ factKeeper, modelFacts: aModelFactStore(windowFor(messages, 0.72)) })
    const { turn, state } = aTurn(model, messages)
    state.toolOutputs.push({ step: 1, tool: 'tool', input: {}, output: 'x', ok: true, duration_ms: 1 })
    await keeper.ask(turn, request)
    const summary = state.messages.find(isSummary)
    expect(summary?.role).toBe('user')
    expect(summary?.content).toContain('quiet words')
    expect(summary?.content).not.toMatch(/[\u202E\u200B\u{E0041}]/u)
    expect(factKeeper.facts).toEqual(['ab'])
  })

  test.each([
    ['fails', new Problem('upstream-failed')],
    ['says nothing', ' '],
  ])('a model that %s when asked for a summary is replaced by an outline', async (_how, summary) => {
    const question: PromptMessage = { role: 'user', content: sanitizeForPrompt('where is the lighthouse') }
    const reply: PromptMessage = {
      role: 'assistant',
      content: sanitizeForPrompt('on the rock'),
      toolCalls: [],
    }
    const messages = [
      question,
      ...groups(40, 1000),
      reply,
      { ...question, content: sanitizeForPrompt('next') },
    ]
    const { model } = aModel({ summary })
    const keeper = aContextKeeper({ modelFacts: aModelFactStore(windowFor(messages, 0.75)) })
    const { turn, state } = aTurn(model, messages)
    await keeper.ask(turn, request)
    expect(state.messages.find(isSummary)?.content).toContain('where is the lighthouse')
  })

  test('a compaction shrinks, parts no group, keeps the last words, and is not done twice', async () => {
    const shape = fc.array(fc.tuple(fc.integer({ min: 5, max: 3000 }), fc.integer({ min: 1, max: 4 })), {
      minLength: 4,
      maxLength: 30,
    })
    await fc.assert(
      fc.asyncProperty(shape, fc.double({ min: 0.3, max: 1.4, noNaN: true }), async (sizes, share) => {
        const messages = sizes.flatMap(([chars, calls]) => group(chars - (chars % 5), calls))
        const { model, kinds } = aModel({ summary: 'S'.repeat(30_000) })
        const keeper = aContextKeeper({
          modelFacts: aModelFactStore(Math.max(2000, windowFor(messages, share))),
        })
        const { turn, state, saved } = aTurn(model, messages)
        const before = weigh(state)
        await keeper.ask(turn, request)
        expect(weigh(state)).toBeLessThanOrEqual(before)
        if (kinds().includes('summary')) expect(weigh(state)).toBeLessThan(before)
        expect(state.messages.some((message) => message.content.endsWith('the question'))).toBe(true)
        for (const one of groupMessages(state.messages)) {
          const [head] = one
          const expected = head?.role === 'assistant' ? head.toolCalls.length : 0
          expect(one.length - 1).toBe(expected)
          expect(head?.role).not.toBe('tool')
        }
        const asides = kinds().filter((kind) => kind === 'summary').length
        await keeper.compact(turn)
        const again = state.messages
        await keeper.compact(turn)
        expect(state.messages).toEqual(again)
        expect(kinds().filter((kind) => kind === 'summary').length).toBeLessThanOrEqual(asides + 1)
        const last = saved.at(-1)
        if (last) expect(readLoopState(JSON.parse(last))).toEqual(state)
      }),
      { numRuns: 60 },
    )
  })

  test('the words of a task stay whatever goes', async () => {
    const messages = groups(60, 1000)
    const { model, asked } = aModel()
    const keeper = aContextKeeper({ modelFacts: aModelFactStore(windowFor(messages, 0.9)) })
    await keeper.ask(aTurn(model, messages, true).turn, request)
    expect(asked.at(-1)?.messages[1]?.content).toBe('the question')
    expect(asked.at(-1)?.messages.slice(2).filter(isSummary)).toHaveLength(1)
  })
})

const weigh = (state: LoopState): number =>
  state.messages.reduce((sum, message) => sum + estimateMessage(message), 0)

describe('a refusal because of length', () => {
  const dense = [...groups(30, 2000)]

  test.each([
    [
      'with numbers',
      'maximum context length is 6000 tokens. However, your messages resulted in 18000 tokens',
    ],
    ['without numbers', 'prompt is too long'],
  ])('%s is learnt from and the conversation made smaller until it is taken', async (_how, says) => {
    heedsLesson(108)
    const { model, kinds, asked } = aModel({ limit: 6000, says })
    const modelFacts = aModelFactStore(200_000)
    const { turn, state } = aTurn(model, dense)
    const before = weigh(state)
    const answer = await aContextKeeper({ modelFacts }).ask(turn, request)
    expect(answer.text).toBe('done')
    expect(weigh(state)).toBeLessThan(before)
    expect(kinds().filter((kind) => kind === 'answer').length).toBeLessThanOrEqual(5)
    const again = asked.length
    await aContextKeeper({ modelFacts }).ask(turn, request)
    expect(asked.length).toBe(again + 1)
  })

  test('one message that is too long by itself loses its middle and says where it is', async () => {
    const { model, asked } = aModel({ limit: 3000, says: 'maximum context length is 3000 tokens' })
    const { transcripts, dailyLog } = aDailyLog()
    const { turn } = aTurn(model, [
      { role: 'user', content: sanitizeForPrompt(`start${'1,2;'.repeat(20_000)}end`) },
    ])
    await aContextKeeper({ modelFacts: aModelFactStore(100_000), dailyLog }).ask(turn, request)
    const shown = asked.at(-1)?.messages.at(-1)?.content ?? ''
    expect(shown).toContain('full text in workspace/memory/transcripts')
    expect(shown.endsWith('end')).toBe(true)
    expect([...transcripts.values()].some((text) => text.length > 80_000)).toBe(true)
  })

  test('a prune that removes nothing ends the run with a problem', async () => {
    heedsLesson(108)
    const { model } = aModel({ limit: 5, says: 'prompt is too long' })
    const { turn } = aTurn(model, [])
    const refused = aContextKeeper().ask(turn, request)
    await expect(refused).rejects.toMatchObject({ code: 'context-exhausted' })
  })

  test('other refusals are no reason to cut anything', async () => {
    const { turn, state } = aTurn(
      { answer: () => Promise.reject(new Problem('budget-exhausted', { detail: 'the context window' })) },
      dense,
    )
    await expect(aContextKeeper().ask(turn, request)).rejects.toMatchObject({
      code: 'budget-exhausted',
    })
    expect(state.messages).toHaveLength(dense.length + 1)
  })
})

describe('what answers teach', () => {
  test('usage corrects the count for the requested model, and not for a fallback model', async () => {
    const modelFacts = aModelFactStore(1_000_000)
    const { model } = aModel({ promptTokens: 30_000 })
    const { turn } = aTurn(model, groups(30, 2000))
    await aContextKeeper({ modelFacts }).ask(turn, request)
    const learnt = modelFacts.facts.get('test/model')?.calibration
    expect(learnt).toMatchObject({ confirmed: true })
    expect(learnt?.ratio).toBeGreaterThan(1.5)
    const other: LanguageModel = {
      answer: async (...asked) => ({
        ...(await model.answer(...asked)),
        promptTokens: 90_000,
        answeredBy: 'other/one',
      }),
    }
    await aContextKeeper({ modelFacts }).ask({ ...turn, model: other }, request)
    expect(modelFacts.facts.get('test/model')?.calibration).toEqual(learnt)
  })

  test('usage of a conversation with a picture teaches nothing about words', async () => {
    const modelFacts = aModelFactStore(1_000_000)
    const { model } = aModel({ promptTokens: 300_000 })
    const image = { mediaType: 'image/png', sha256: 'a'.repeat(64), sizeBytes: 500_000 } as const
    const messages = groups(30, 2000).map((message) =>
      message.role === 'tool' ? { ...message, images: [image] } : message,
    )
    await aContextKeeper({ modelFacts }).ask(aTurn(model, messages).turn, request)
    expect(modelFacts.facts.get('test/model')?.calibration.confirmed ?? false).toBe(false)
    await aContextKeeper({ modelFacts }).ask(aTurn(model, groups(30, 2000)).turn, request)
    expect(modelFacts.facts.get('test/model')?.calibration.confirmed).toBe(true)
  })

  test('an answer is limited to the room that is left', async () => {
    const messages = groups(20, 1000)
    const { model, asked } = aModel()
    await aContextKeeper({ modelFacts: aModelFactStore(windowFor(messages, 0.5)) }).ask(
      aTurn(model, messages).turn,
      request,
    )
    const bound = asked.at(-1)?.answerTokensMax ?? 0
    expect(bound).toBeGreaterThan(0)
    expect(bound).toBeLessThan(windowFor(messages, 0.5) / 2)
  })
})
