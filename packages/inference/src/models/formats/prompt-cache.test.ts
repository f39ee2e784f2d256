import { expect, test } from 'vitest'
import { promptCacheOf, withPromptCache } from './prompt-cache.ts'

const at = { model: 'm', kind: 'openai-compatible', baseUrl: 'https://example.com/v1', takesMarks: false }

test.each([
  [{ kind: 'anthropic' }, { by: 'marks', onTools: true }],
  [
    { kind: 'bedrock', model: 'eu.anthropic.claude-haiku-4-5-v1:0' },
    { by: 'marks', onTools: false },
  ],
  [
    { kind: 'bedrock', model: 'amazon.nova-pro-v1:0' },
    { by: 'marks', onTools: false },
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
    { by: 'marks', onTools: false },
  ],
  [
    { takesMarks: true, model: 'openai/gpt-5' },
    { by: 'prefix', takesKey: false },
  ],
  [{ model: 'anthropic/claude-sonnet-4.5' }, { by: 'prefix', takesKey: false }],
  [{ baseUrl: 'https://api.openai.com/v1' }, { by: 'prefix', takesKey: true }],
  [
    { kind: 'scripted', baseUrl: null },
    { by: 'prefix', takesKey: false },
  ],
])('%j is cached %j', (one, cache) => {
  expect(promptCacheOf({ ...at, ...one })).toEqual(cache)
})

test('a key is the same for all calls of one agent, another for another, and hides its id', () => {
  const cache = { by: 'prefix', takesKey: true } as const
  const keyOf = (agentId: string, text: string) =>
    withPromptCache({ messages: [{ role: 'user', content: text }] }, cache, agentId)['prompt_cache_key']
  expect(keyOf('scout', 'one')).toBe(keyOf('scout', 'two'))
  expect(keyOf('scout', 'one')).not.toBe(keyOf('clerk', 'one'))
  expect(keyOf('scout', 'one')).toMatch(/^flotilla-[0-9a-f]{32}$/)
})

test('a call of a provider without marks and key is the same object', () => {
  const call = { messages: [{ role: 'user', content: 'hi' }] }
  expect(withPromptCache(call, { by: 'prefix', takesKey: false }, 'scout')).toBe(call)
})

test('a blank text takes no mark, which Anthropic rejects', () => {
  const messages = [
    { role: 'system', content: ' ' },
    { role: 'user', content: [{ type: 'text', text: '' }] },
  ]
  expect(withPromptCache({ messages }, { by: 'marks', onTools: true }, 'scout')).toEqual({ messages })
})
