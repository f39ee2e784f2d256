import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import { describeDone, describeFailures, runEach } from './run-each.ts'

const items = ['a', 'b', 'c', 'd'].map((title) => ({ title }))
const titles = (of: readonly { readonly title: string }[]) => of.map(({ title }) => title).join('')

/** Calls that fail as named, with a person who answers the question for the proof in the same way each time. */
async function each(fails: Readonly<Record<string, Error>>, givesProof = false) {
  const made: string[] = []
  let asked = 0
  const end = await runEach(items, {
    proofs: { ask: async () => ((asked += 1), givesProof) },
    call: 'pendingConfirm',
    run: async ({ title }) => {
      made.push(title)
      const error = fails[title]
      if (error !== undefined && !(error instanceof Problem && givesProof && asked > 0)) throw error
    },
  })
  return { made: made.join(''), asked, end }
}

test('calls are made in order, and one that fails keeps no other back', async () => {
  const { made, end } = await each({ b: new Error('no b') })
  expect(made).toBe('abcd')
  expect(titles(end.done)).toBe('acd')
  expect(describeFailures(end, 'request')).toBe('1 of 4 requests failed. b: No b.')
})

test('a proof that the person refuses is asked for once, and no further call is made', async () => {
  const proof = new Problem('proof-wanted')
  const { made, asked, end } = await each({ b: proof, c: proof, d: proof })
  expect([made, asked]).toEqual(['ab', 1])
  expect([titles(end.done), titles(end.unproved)]).toEqual(['a', 'bcd'])
  expect(describeFailures(end, 'request')).toBe(
    '3 requests not changed, because you did not confirm that you are the owner.',
  )
})

test('a proof that the person gives repeats the call', async () => {
  const { made, end } = await each({ b: new Problem('proof-wanted') }, true)
  expect(made).toBe('abbcd')
  expect(describeFailures(end, 'request')).toBe(null)
})

test('only items for which the action was done are reported as done', async () => {
  const { end } = await each({ b: new Error('no b') })
  expect(describeDone(end, { thing: 'agent', past: 'resumed' })).toBe('3 agents resumed.')
  const none = await each(Object.fromEntries(items.map(({ title }) => [title, new Error(title)])))
  expect(describeDone(none.end, { thing: 'agent', past: 'resumed' })).toBe(null)
})

test('a message names the first failures with their reasons, and counts the others', async () => {
  const no = (detail: string) => new Problem('conflict', { detail })
  const { end } = await each({ a: no('no a'), b: no('no b'), c: no('No c.'), d: no('no d') })
  expect(describeFailures(end, 'agent')).toBe(
    '4 of 4 agents failed. a: No a. b: No b. c: No c. 1 more failed.',
  )
})
