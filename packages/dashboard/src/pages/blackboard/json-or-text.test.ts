import { expect, it } from 'vitest'
import { jsonOrText, parseJsonOrText } from './json-or-text.ts'

it.each([[{ a: [1, null] }], ['some words'], ['true'], ['{"a": 1}'], [''], [7]])(
  'what is shown of %j is read as the same again',
  (value) => {
    expect(parseJsonOrText(jsonOrText(value))).toEqual(value)
  },
)

it('what is no JSON is a text', () => {
  expect(parseJsonOrText('{ship it')).toBe('{ship it')
  expect(jsonOrText('ship it')).toBe('ship it')
})
