import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, test } from 'vitest'
import type { PromptMessage } from '../llm/language-model.ts'
import { takeLines } from '../builtin-tools/files.ts'
import { createScriptedModel } from '../llm/scripted-model.ts'
import type { TokenCounter } from './count-tokens.ts'
import { aContextKeeper, aDailyLog, aModelFactStore } from '../testing/context-parts.ts'
import { aState, noMesh, noProvenance } from '../testing/loop-parts.ts'
import type { DailyLog } from '../workspace/daily-log.ts'
import { clearableResults, savedByClearing, withoutResults } from './clear-results.ts'
import { estimateMessage } from './estimate-tokens.ts'
import { isSummary } from './context-prompts.ts'

let ids = 0
const called = (chars: number, name = 'read_file'): PromptMessage[] => {
  const id = `call_${(ids += 1)}`
  return [
    { role: 'assistant', content: sanitizeForPrompt(''), toolCalls: [{ id, name, arguments: '{}' }] },
    { role: 'tool', toolCallId: id, content: sanitizeForPrompt(`${id} ${'word '.repeat(chars / 5)}`) },
  ]
}
const results = (count: number, chars: number) => Array.from({ length: count }, () => called(chars)).flat()
const sizeOf = (messages: readonly PromptMessage[]) =>
  messages.reduce((sum, message) => sum + estimateMessage(message), 0)

test('old and long results can be cleared: not the newest four, not short ones, not definitions of tools', () => {
  const messages = [...called(5000), ...called(1000), ...called(5000, 'find_tools'), ...results(4, 5000)]
  expect(clearableResults(messages)).toEqual([messages[1]])
})

test('a cleared result names the file of the whole text, keeps its beginning and its call, and is not cleared again', () => {
  const messages = [...called(5000), ...results(4, 5000)]
  const after = withoutResults(messages, clearableResults(messages), 'workspace/memory/transcripts/a.md')
  expect(after).toHaveLength(messages.length)
  expect(after.slice(2)).toEqual(messages.slice(2))
  const [, first] = after
  expect(first).toEqual({ ...messages[1], content: first?.content })
  expect(first?.content).toMatch(
    /whole result is in workspace\/memory\/transcripts\/a\.md \(read_file, offset 0, limit 1\)\.\]\ncall_\d+ word/,
  )
  expect(first?.content.length).toBeLessThan(600)
  expect(clearableResults(after)).toEqual([])
  expect(sizeOf(messages) - sizeOf(after)).toBeGreaterThan(savedByClearing(clearableResults(messages)) * 0.9)
})

function aTurn(
  messages: readonly PromptMessage[],
  windowTokens: number,
  parts: { readonly dailyLog?: DailyLog; readonly tokenizer?: TokenCounter } = {},
) {
  const state = aState('the question')
  state.messages.push(...messages)
  const model = createScriptedModel(Array.from({ length: 6 }, () => ({ text: '[]' })))
  const turn = {
    state,
    model,
    mesh: noMesh,
    systemPrompt: sanitizeForPrompt('be good'),
    tools: [],
    signal: new AbortController().signal,
    provenance: () => noProvenance,
    pinFirst: false,
    saveCheckpoint: async () => undefined,
  }
  const keeper = aContextKeeper({ modelFacts: aModelFactStore(windowTokens), ...parts })
  const request = { notices: [], mayCallTools: true, answerTokensMax: null, onText: () => undefined }
  return { state, model, ask: () => keeper.ask(turn, request) }
}

test('a full conversation loses its old results before anything is summarized, and their whole text is on disk', async () => {
  const messages = results(12, 5000)
  const { dailyLog, transcripts } = aDailyLog()
  const { state, ask } = aTurn(messages, Math.ceil(sizeOf(messages) / 0.75), { dailyLog })
  await ask()
  expect(state.messages.some(isSummary)).toBe(false)
  expect(state.messages).toHaveLength(messages.length + 1)
  const [[, text] = ['', '']] = [...transcripts]
  for (const message of messages.slice(0, -8))
    if (message.role === 'tool') expect(text).toContain(message.content)
  expect(state.messages.slice(-8)).toEqual(messages.slice(-8))
})

test('the lines that a cleared result names hold its whole text, and nothing of another result', async () => {
  const lines = (count: number) => '\nword word word'.repeat(count)
  const messages = results(12, 5000).map((message, at) =>
    message.role === 'tool'
      ? { ...message, content: sanitizeForPrompt(message.content + lines(at) + '\n'.repeat(at % 3)) }
      : message,
  )
  const { dailyLog, transcripts } = aDailyLog()
  const { state, ask } = aTurn(messages, Math.ceil(sizeOf(messages) / 0.75), { dailyLog })
  await ask()
  const [[, text] = ['', '']] = [...transcripts]
  const cut = state.messages.flatMap((message, at) => {
    const handle = /\(read_file, offset (\d+), limit (\d+)\)\.\]/.exec(message.content)
    return handle === null ? [] : [{ at, offset: Number(handle[1]), limit: Number(handle[2]) }]
  })
  expect(cut).toHaveLength(8)
  // The question comes first in the state.
  for (const { at, offset, limit } of cut)
    expect(takeLines(text, { offset, limit }).replace(/\n\[\d+ more lines; .*\]$/, '')).toBe(
      `[result] ${messages[at - 1]?.content}`,
    )
})

test('old results go first too where the tokenizer counts a multiple of the rough count', async () => {
  // Two results can be cut: 22 % of the window by the tokenizer, 14 % by the rough count.
  const messages = results(6, 5000)
  const tokenizer = { count: async (counted: readonly PromptMessage[]) => sizeOf(counted) * 1.6 }
  const windowTokens = Math.ceil((sizeOf(messages) * 1.6) / 0.75)
  const { state, ask } = aTurn(messages, windowTokens, { tokenizer })
  await ask()
  expect(state.messages.some(isSummary)).toBe(false)
  expect(JSON.stringify(state.messages).match(/Cut to save space/g)).toHaveLength(2)
})

test('a full conversation of short results is summarized as before', async () => {
  const messages = results(60, 1000)
  const { state, ask } = aTurn(messages, Math.ceil(sizeOf(messages) / 0.75))
  await ask()
  expect(state.messages.some(isSummary)).toBe(true)
})

test('results are not cleared where their whole text cannot be written', async () => {
  const messages = results(12, 5000)
  const { dailyLog } = aDailyLog()
  const full = { ...dailyLog, keepTranscript: () => Promise.reject(new Error('no space left')) }
  const { state, ask } = aTurn(messages, Math.ceil(sizeOf(messages) / 0.75), { dailyLog: full })
  await ask()
  expect(JSON.stringify(state.messages)).not.toContain('Cut to save space')
})
