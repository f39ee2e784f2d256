import { expect, it } from 'vitest'
import { namesIn, withName } from './use-kept.ts'

it('kept names are read as they were written, and anything else is none', () => {
  expect(namesIn('{"a":"one","b":2}')).toEqual({ a: 'one' })
  expect([namesIn(''), namesIn('null'), namesIn('{"a":'), namesIn('"x"')].map((names) => names['a'])).toEqual(
    Array.from({ length: 4 }, () => undefined),
  )
})

it('kept names are as many as the bound, the newest of them, and an empty name removes one', () => {
  const max = 2
  const two = withName(withName({}, { key: 'a', name: ' A ', max }), { key: 'b', name: 'B', max })
  expect(two).toEqual({ a: 'A', b: 'B' })
  expect(withName(two, { key: 'c', name: 'C', max })).toEqual({ b: 'B', c: 'C' })
  expect(withName(two, { key: 'a', name: 'again', max })).toEqual({ b: 'B', a: 'again' })
  expect(withName(two, { key: 'a', name: ' ', max })).toEqual({ b: 'B' })
})
