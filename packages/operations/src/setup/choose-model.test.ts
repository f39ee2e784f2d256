import { expect, it } from 'vitest'
import { withCachedPrice } from './choose-model.ts'

it('a new price keeps the price of cached tokens that the owner wrote, unless it is higher than the new one', () => {
  const price = { input_per_mtok: 1, output_per_mtok: 5 }
  expect(withCachedPrice(price, undefined)).toEqual(price)
  expect(withCachedPrice(price, 0.1)).toEqual({ ...price, cached_input_per_mtok: 0.1 })
  expect(withCachedPrice(price, 2)).toEqual(price)
  expect(withCachedPrice({ input_per_mtok: 0, output_per_mtok: 0 }, 0.1)).toEqual({
    input_per_mtok: 0,
    output_per_mtok: 0,
  })
})
