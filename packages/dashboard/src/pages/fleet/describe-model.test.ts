import { expect, it } from 'vitest'
import { describeModel } from './describe-model.ts'

const model = {
  id: 'openai/gpt-5',
  price: { input_per_mtok: 1.25, output_per_mtok: 10 },
  free_because: null,
  context_window: 400_000,
  problem: null,
}

it('a model in a list has its price and context, and says if it cannot be called', () => {
  expect(describeModel(model)).toBe('openai/gpt-5 · $1.25 in, $10.00 out per M tokens · 400k context')
  expect(describeModel({ ...model, free_because: 'declared', context_window: null })).toBe(
    'openai/gpt-5 · free',
  )
  expect(describeModel({ ...model, price: null })).toContain('price unknown')
  expect(describeModel({ ...model, problem: 'no key is set' })).toContain('cannot be called now')
})
