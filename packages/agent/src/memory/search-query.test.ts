import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aFact, aMemory } from '../testing/memory-harness.ts'
import { foldText, searchExpression } from './search-query.ts'

describe('the question to the index', () => {
  test.each([
    ['What is the port?', '"port"'],
    ['what is it', '"what" OR "is" OR "it"'],
    ['a', null],
    ['  !? ', null],
    ['7 Zürich', '"7" OR "zürich"'],
    ['text:secret OR NEAR("a b", 3) -x *', '"text" OR "secret" OR "near" OR "3"'],
    ['東京の天気', '"東 京 の 天 気"'],
  ])('%j asks for %j', (question, expression) => {
    expect(searchExpression(question)).toBe(expression)
  })

  test('a text without spaces between words is indexed by its characters', () => {
    expect(foldText('Wetter in 東京!')).toBe('wetter in 東 京')
  })

  test('no text is an expression: whatever is asked, the index answers', async () => {
    const { store, database } = await aMemory()
    store.save(aFact('the quick brown fox'))
    const syntax = fc.stringMatching(/^[a-z"*:^(){}+\-' ]{0,40}$/)
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), syntax), (text) => {
        store.search({ text, vector: null, category: null, maxResults: 5, runId: 'r' })
      }),
      { numRuns: 500 },
    )
    const find = (text: string) =>
      store.search({ text, vector: null, category: null, maxResults: 5, runId: 'r' }).length
    expect(find('fox AND nothing')).toBe(1)
    expect(find('words:fox NOT fox')).toBe(1)
    database.close()
  })
})
