import { promptParts } from '@flotilla/protocol/prompt-parts'
import { expect, test } from 'vitest'
import { withoutMember } from '../refusals/optional-members.ts'
import { asksForAnHour, promptCacheOf, withPromptCache } from './prompt-cache.ts'

const scout = { agentId: 'scout', keep: '5m' } as const
const marks = {
  by: 'marks',
  mark: 'cache_control',
  takesKey: false,
  onTools: true,
  forAnHour: true,
  minTokens: 0,
} as const
const at = { model: 'm', kind: 'openai-compatible', baseUrl: 'https://example.com/v1', takesMarks: false }

test.each([
  [{ kind: 'anthropic' }, { by: 'marks', onTools: true, forAnHour: true, minTokens: 1024 }],
  [
    { kind: 'bedrock', model: 'eu.anthropic.claude-haiku-4-5-v1:0' },
    { by: 'marks', onTools: false, forAnHour: true, minTokens: 4096 },
  ],
  [
    { kind: 'bedrock', model: 'amazon.nova-pro-v1:0' },
    { by: 'marks', onTools: false, forAnHour: false, minTokens: 1024 },
  ],
  // Amazon rejects a cache point for these.
  [
    { kind: 'bedrock', model: 'anthropic.claude-3-sonnet-20240229-v1:0' },
    { by: 'prefix', takesKey: false },
  ],
  [
    { kind: 'bedrock', model: 'mistral.mistral-large-2402-v1:0' },
    { by: 'prefix', takesKey: false },
  ],
  [
    { takesMarks: true, model: 'anthropic/claude-sonnet-4.5' },
    { by: 'marks', onTools: false, forAnHour: true, minTokens: 1024 },
  ],
  [
    { kind: 'bedrock', model: 'anthropic.claude-sonnet-4-20250514-v1:0' },
    { by: 'marks', onTools: false, forAnHour: false, minTokens: 1024 },
  ],
  [
    { kind: 'anthropic', model: 'claude-3-5-haiku-latest' },
    { by: 'marks', onTools: true, forAnHour: true, minTokens: 2048 },
  ],
  [
    { takesMarks: true, model: 'openai/gpt-5' },
    { by: 'prefix', takesKey: false },
  ],
  [{ model: 'anthropic/claude-sonnet-4.5' }, { by: 'prefix', takesKey: false }],
  [{ baseUrl: 'https://api.openai.com/v1' }, { by: 'prefix', takesKey: true }],
  [{ baseUrl: 'https://eu.api.openai.com/v1' }, { by: 'prefix', takesKey: true }],
  [{ baseUrl: 'https://evil-api.openai.com.test/v1' }, { by: 'prefix', takesKey: false }],
  [
    { baseUrl: 'https://api.openai.com/v1', model: 'gpt-5.5' },
    { by: 'prefix', takesKey: true },
  ],
  [
    { baseUrl: 'https://api.openai.com/v1', model: 'gpt-5.6-terra' },
    { by: 'marks', mark: 'prompt_cache_breakpoint', onTools: false, forAnHour: false, takesKey: true },
  ],
  [
    { takesMarks: true, model: 'openai/gpt-5.10' },
    { by: 'marks', mark: 'prompt_cache_breakpoint', takesKey: false },
  ],
  // Azure and others that speak this protocol may reject the marks.
  [
    { baseUrl: 'https://example.openai.azure.com/openai/v1', model: 'gpt-5.6' },
    { by: 'prefix', takesKey: false },
  ],
  [
    { kind: 'anthropic', model: 'claude-opus-5' },
    { by: 'marks', minTokens: 512 },
  ],
  [
    { kind: 'anthropic', model: 'claude-opus-4-8' },
    { by: 'marks', minTokens: 1024 },
  ],
  [
    { kind: 'scripted', baseUrl: null },
    { by: 'prefix', takesKey: false },
  ],
])('%j is cached %j', (one, cache) => {
  expect(promptCacheOf({ ...at, ...one })).toMatchObject(cache)
})

test('a key is the same for all calls of one agent, another for another, and hides its id', () => {
  const cache = { by: 'prefix', takesKey: true } as const
  const keyOf = (agentId: string, text: string) =>
    withPromptCache({ messages: [{ role: 'user', content: text }] }, cache, { agentId, keep: '5m' })[
      'prompt_cache_key'
    ]
  expect(keyOf('scout', 'one')).toBe(keyOf('scout', 'two'))
  expect(keyOf('scout', 'one')).not.toBe(keyOf('clerk', 'one'))
  expect(keyOf('scout', 'one')).toMatch(/^flotilla-[0-9a-f]{32}$/)
})

test('a call of a provider without marks and key is the same object', () => {
  const call = { messages: [{ role: 'user', content: 'hi' }] }
  expect(withPromptCache(call, { by: 'prefix', takesKey: false }, scout)).toBe(call)
})

test('a blank text takes no mark, which Anthropic rejects', () => {
  const messages = [
    { role: 'system', content: ' ' },
    { role: 'user', content: [{ type: 'text', text: '' }] },
  ]
  expect(withPromptCache({ messages }, marks, scout)).toEqual({ messages })
})

const question = { role: 'user', content: 'hi' }
const instructed = (chars: number) => [{ role: 'system', content: 'x'.repeat(chars) }, question]
const markOf = (message: unknown) =>
  (message as { content: readonly { cache_control?: unknown }[] }).content[0]?.cache_control

test('a beginning that is too short for the model takes no mark, and each later one that is long enough does', () => {
  const cache = { ...marks, minTokens: 4096 }
  const short = { messages: instructed(8000) }
  expect(withPromptCache(short, cache, scout)).toEqual(short)
  const tools = [{ type: 'function', function: { name: 'look', description: 'y'.repeat(500) } }]
  const long = withPromptCache({ messages: instructed(8000), tools }, cache, scout)
  expect(long['tools']).toEqual(tools)
  expect((long['messages'] as unknown[]).map(markOf)).toEqual([{ type: 'ephemeral' }, { type: 'ephemeral' }])
})

test('the part of the instructions that runs of all kinds share has a mark of its own, before one on the tools', () => {
  const content = `You are scout.\n\n${promptParts.kind}a heartbeat.`
  const tools = [{ type: 'function', function: { name: 'look' } }]
  const marksOf = (messages: object[]) => {
    const sent = withPromptCache({ messages, tools } as never, marks, scout)
    const parts = [
      ...(sent['tools'] as object[]),
      ...(sent['messages'] as { content: unknown }[]).flatMap(({ content: said }) => said),
    ]
    return parts.map((part) => typeof part === 'object' && part !== null && 'cache_control' in part)
  }
  const system = { role: 'system', content }
  // On the tools, both parts of the instructions and the question.
  expect(marksOf([system, question])).toEqual([true, true, true, true])
  const answer = { role: 'assistant', content: 'hello' }
  // There are four marks at most: the tools come before the shared part, which covers them.
  expect(marksOf([system, question, answer, question])).toEqual([false, true, true, true, false, true])
  const [sent] = withPromptCache({ messages: [system, question] }, marks, scout)['messages'] as {
    content: { text: string }[]
  }[]
  expect(sent?.content.map(({ text }) => text).join('')).toBe(content)
})

test('OpenAI from GPT-5.6 on gets its own marks, with the option that only they are written, and a key', () => {
  const cache = { ...marks, mark: 'prompt_cache_breakpoint', takesKey: true, onTools: false } as const
  const call = { messages: [...instructed(9), { role: 'system', content: 'a notice' }] }
  const sent = withPromptCache(call, cache, { agentId: 'scout', keep: '1h' })
  const part = (text: string) => [{ type: 'text', text, prompt_cache_breakpoint: { mode: 'explicit' } }]
  expect(sent).toEqual({
    messages: [
      { role: 'system', content: part('x'.repeat(9)) },
      { role: 'user', content: part('hi') },
      { role: 'system', content: 'a notice' },
    ],
    prompt_cache_options: { mode: 'explicit' },
    prompt_cache_key: expect.stringMatching(/^flotilla-/),
  })
  // With the option and without a mark, nothing would be cached.
  const short = withPromptCache(call, { ...cache, minTokens: 1024 }, scout)
  expect(short).not.toHaveProperty('prompt_cache_options')
  // A server that rejects one of the members gets neither.
  const plain = withoutMember(sent, 'prompt_cache_breakpoint')
  expect(JSON.stringify(plain)).not.toMatch(/prompt_cache_(?:options|breakpoint)/)
})

test('marks for an hour are used only where the provider has them', () => {
  const hour = { agentId: 'scout', keep: '1h' } as const
  const sent = withPromptCache({ messages: instructed(9) }, marks, hour)
  const long = { type: 'ephemeral', ttl: '1h' }
  expect((sent['messages'] as unknown[]).map(markOf)).toEqual([long, long])
  const short = withPromptCache({ messages: instructed(9) }, { ...marks, forAnHour: false }, hour)
  expect((short['messages'] as unknown[]).map(markOf)).toEqual([{ type: 'ephemeral' }, { type: 'ephemeral' }])
})

test.each<readonly [string, object, boolean]>([
  ['no mark', { messages: [{ role: 'user', content: 'hi' }] }, false],
  [
    'a mark without a lifetime',
    { messages: [{ role: 'user', cache_control: { type: 'ephemeral' } }] },
    false,
  ],
  [
    'a mark for an hour on a part',
    {
      messages: [
        { role: 'user', content: [{ text: 'hi', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
      ],
    },
    true,
  ],
  ['a mark for an hour on a tool', { tools: [{ cache_control: { type: 'ephemeral', ttl: '1h' } }] }, true],
])('a client asks for an hour: %s', (_what, call, isAsked) => {
  expect(asksForAnHour(call as never)).toBe(isAsked)
})
