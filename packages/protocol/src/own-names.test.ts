import { expect, it } from 'vitest'
import { noOwnNames, ownNameChangeSchema, ownNameMax, withOwnName } from './own-names.ts'

it('names are as many as the bound, the newest of them, and an empty name removes one', () => {
  const give = (names: typeof noOwnNames, key: string, name: string) =>
    withOwnName(names, { kind: 'run_filters', key, name })
  const two = give(give(noOwnNames, 'a', ' A '), 'b', 'B')
  expect(two).toEqual({ conversations: {}, run_filters: { a: 'A', b: 'B' } })
  expect(Object.keys(give(two, 'a', 'again').run_filters)).toEqual(['b', 'a'])
  expect(give(two, 'a', ' ').run_filters).toEqual({ b: 'B' })
  let many = two
  for (let at = 0; at < ownNameMax.run_filters; at++) many = give(many, `x${at}`, 'X')
  expect(Object.keys(many.run_filters)).toHaveLength(ownNameMax.run_filters)
  expect(many.run_filters).not.toHaveProperty('b')
})

it('a key that is a whole number is refused, because it would count as the oldest name', () => {
  const parse = (key: string) =>
    ownNameChangeSchema.safeParse({ kind: 'run_filters', key, name: 'A' }).success
  expect([parse('2026'), parse(''), parse('agent=2026')]).toEqual([false, false, true])
})
