import { expect, it } from 'vitest'
import { runEach } from './run-each.ts'

it('calls are made in order, and one that fails keeps no other back', async () => {
  const made: string[] = []
  const end = await runEach(['a', 'b', 'c'], async (item) => {
    made.push(item)
    if (item === 'b') throw new Error('no b')
  })
  expect(made).toEqual(['a', 'b', 'c'])
  expect(end).toEqual({ done: ['a', 'c'], failures: [new Error('no b')] })
})
