import { expect, test } from 'vitest'
import { columnsOf } from './columns.ts'

/** Every character of one code unit that `columnsOf` gives one column, by its length or by the tables. */
const counted = Array.from({ length: 0xd800 }, (_, code) => String.fromCharCode(code)).filter(
  (letter) => columnsOf(letter) === 1,
)

test('a character that is counted by its length has the columns that the tables give it', () => {
  expect(counted).toContain('─')
  // A combining mark is not counted by its length, so the tables count this text.
  expect(counted.filter((letter) => columnsOf(`${letter}\u0301`) !== 1)).toEqual([])
})
