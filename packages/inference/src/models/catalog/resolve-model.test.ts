import { expect, test } from 'vitest'
import { modelIsListed } from './resolve-model.ts'

test.each([
  ['ollama', 'qwen3:4b', true],
  ['bedrock', 'anthropic.claude-sonnet-4-20250514-v1:0', true],
  ['openrouter', 'deepseek/deepseek-chat:free', true],
  ['openrouter', 'deepseek/deepseek-chat:nitro', false],
  ['openrouter', 'deepseek/deepseek-chat:online', false],
  ['ollama', 'qwen3:4b:online', false],
  ['ollama', 'qwen3:online', false],
])('all models of a provider: %s/%s is one of them: %s', (provider, model, isListed) => {
  expect(modelIsListed([`${provider}/*`], { provider, model }, 'openai')).toBe(isListed)
})
