import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import { createTokenCounter } from './count-tokens.ts'
import { estimateMessage, hasOurTokenizer, imageTokens } from './estimate-tokens.ts'

const message = (text: string): PromptMessage => ({ role: 'user', content: sanitizeForPrompt(text) })
const counter = createTokenCounter(() => import('../parts/tokenizer.ts'))

describe('counting tokens', () => {
  test('the real tokenizer counts as the model does', async () => {
    expect(await counter.count([message('hello world')])).toBe(2 + 4)
    const long = message('The quick brown fox jumps over the lazy dog. '.repeat(500))
    const exact = await counter.count([long])
    const { countTokens } = await import('../parts/tokenizer.ts')
    // Each cut between pieces adds at most one token.
    expect(exact - countTokens(long.content)).toBeLessThan(long.content.length / 400 + 10)
  })

  test('a text without a break is counted in time that grows with its length alone', async () => {
    const short = await timed('a'.repeat(20_000))
    const long = await timed('b'.repeat(200_000))
    // The text is ten times as long; a count without pieces would take a hundred times as long.
    expect(long).toBeLessThan(Math.max(short, 5) * 50)
  })

  test('the names of special tokens are text', async () => {
    expect(await counter.count([message('<|endoftext|>')])).toBeGreaterThan(5)
  })

  test('each message is counted once', async () => {
    let loads = 0
    let counted = 0
    const fake = createTokenCounter(async () => {
      loads += 1
      return { countTokens: () => (counted += 1) }
    })
    const one = message('x')
    await fake.count([one])
    await fake.count([one, message('y')])
    expect([loads, counted]).toEqual([2, 2])
  })

  test('a picture counts as a fixed number of tokens, however many bytes it has', async () => {
    heedsLesson(109)
    const words = { role: 'tool', toolCallId: 'c', content: sanitizeForPrompt('look') } as const
    const image = { mediaType: 'image/png', sha256: 'a'.repeat(64), sizeBytes: 3_000_000 } as const
    const screenshot = { ...words, images: [image] }
    expect(estimateMessage(screenshot) - estimateMessage(words)).toBe(imageTokens)
    expect((await counter.count([screenshot])) - (await counter.count([words]))).toBe(imageTokens)
  })

  test.each([
    ['openai/gpt-4o-mini', true],
    ['gpt-5', true],
    ['openai/o3', true],
    ['anthropic/claude-opus-4', false],
    ['scripted/demo', false],
    ['ollama/olmo-2', false],
  ])('%s is counted by its own tokenizer: %s', (model, own) => {
    expect(hasOurTokenizer(model)).toBe(own)
  })
})

async function timed(text: string): Promise<number> {
  const started = performance.now()
  await counter.count([message(text)])
  return performance.now() - started
}
