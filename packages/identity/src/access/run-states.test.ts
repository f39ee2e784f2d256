import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileTokens } from './pattern-automaton.ts'
import type { Token } from './pattern-automaton.ts'

/** Tokens, each with texts that it takes. */
const pieces: readonly (readonly [readonly Token[], readonly string[]])[] = [
  [[{ kind: 'literal', character: 'a' }], ['a']],
  [[{ kind: 'literal', character: 'ж' }], ['ж']],
  [[{ kind: 'literal', character: '/' }], ['/']],
  [[{ kind: 'any' }], ['a', '/', 'ж']],
  [[{ kind: 'set', negated: false, ranges: [['a', 'b']] }], ['a', 'b']],
  [[{ kind: 'many', crossesSlash: false }], ['', 'a', 'ba']],
  [[{ kind: 'many', crossesSlash: true }], ['', 'a', 'b/a']],
  // It begins a segment.
  [
    [{ kind: 'literal', character: '/' }, { kind: 'segments' }],
    ['/', '/a/', '/b/a/'],
  ],
]
/** A pattern of up to 400 states, and a text that its pieces take, up to one that is left out or put in. */
const patternAndText = fc
  .subarray([...pieces], { minLength: 1, maxLength: 3 })
  .chain((few) =>
    fc.array(fc.tuple(fc.constantFrom(...few), fc.nat(2)), { minLength: 1, maxLength: 400, size: 'max' }),
  )
  .chain((some) => {
    const text = some.map(([[, texts], which]) => texts[which % texts.length] ?? '')
    return fc.record({
      tokens: fc.constant(some.flatMap(([[tokens]]) => tokens)),
      text: fc.oneof(
        fc.constant(text.join('')),
        fc
          .tuple(fc.nat(text.length), fc.nat(1), fc.constantFrom('', '/', 'b/'))
          .map(([at, count, more]) => text.toSpliced(at, count, more).join('')),
      ),
    })
  })

/** The same rules with a set of states in the place of words. */
function matchesByDefinition(tokens: readonly Token[], given: string): boolean {
  const skipped = (states: Set<number>, at: number): Set<number> => {
    for (const state of states) {
      const next = tokens[state]
      if (next?.kind === 'many') states.add(state + 1)
      // Nothing, or whole segments.
      if (next?.kind === 'segments' && (at === 0 || given[at - 1] === '/')) states.add(state + 1)
    }
    return states
  }
  let states = skipped(new Set([0]), 0)
  for (const [at, character] of Array.from(given).entries()) {
    const reached = new Set<number>()
    for (const state of states) {
      const one = tokens[state]
      if (one === undefined) continue
      if (one.kind === 'segments') reached.add(state)
      else if (one.kind === 'many') {
        if (one.crossesSlash || character !== '/') reached.add(state)
      } else if (
        one.kind === 'any' ||
        (one.kind === 'literal' && one.character === character) ||
        (one.kind === 'set' && one.ranges.some(([from, to]) => from <= character && character <= to))
      )
        reached.add(state + 1)
    }
    states = skipped(reached, at + 1)
  }
  return states.has(tokens.length)
}

test.each([
  ['at most seven words', 220],
  ['any number of words', 400],
])('a pattern of %s matches what its tokens say', (_what, tokensMax) => {
  fc.assert(
    fc.property(patternAndText, ({ tokens, text }) => {
      fc.pre(tokens.length <= tokensMax)
      expect(compileTokens(tokens).run(text).matches).toBe(matchesByDefinition(tokens, text))
    }),
    // A failure is not made smaller, which takes minutes with so many states.
    { numRuns: 700, endOnFailure: true },
  )
})

test.each(Array.from({ length: 8 }, (_, word) => word))(
  'a `**` with its slash waits for its segment in word %i, when no other state is left',
  (word) => {
    const start = 'a'.repeat(32 * word + 3)
    const literals = (text: string) =>
      Array.from(text, (character): Token => ({ kind: 'literal', character }))
    const { run } = compileTokens([...literals(`${start}/`), { kind: 'segments' }, ...literals('c')])
    expect([run(`${start}/bb/b/c`).matches, run(`${start}/bbc`).matches]).toEqual([true, false])
  },
)
