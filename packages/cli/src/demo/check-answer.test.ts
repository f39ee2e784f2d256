import { describe, expect, it } from 'vitest'
import { checkAnswer } from './check-answer.ts'

const expected = {
  total: 1352,
  byLicence: new Map([
    ['MIT', 1339],
    ['MPL-2.0', 12],
    ['Public Domain', 1],
  ]),
  notPermissive: new Map([
    ['MPL-2.0', Array.from({ length: 12 }, (_one, index) => `p${index}`)],
    ['Public Domain', ['jsonify']],
  ]),
}

describe('answer check', () => {
  it.each([
    'There are 1352 dependencies. Not permissive: MPL-2.0 (12) and Public Domain (1).',
    '**1,352** packages in all.\n| MPL-2.0 | 12 |\n| public domain | 1 |',
    'Of 1 352 dependencies 12 are under MPL-2.0 and 1 is Public Domain.',
  ])('the answer check takes the facts in other words: %s', (answer) => {
    expect(checkAnswer(answer, expected).right).toBe(true)
  })

  it.each([
    ['a wrong total', 'There are 1353 dependencies: MPL-2.0 12, Public Domain 1.'],
    ['a total inside a longer number', 'There are 11352 dependencies: MPL-2.0 12, Public Domain 1.'],
    ['a missing licence', 'There are 1352 dependencies: MPL-2.0 12.'],
    ['a wrong number', 'There are 1352 dependencies: MPL-2.0 11, Public Domain 1.'],
    ['nothing', ''],
  ])('the answer check refuses %s', (_what, answer) => {
    expect(checkAnswer(answer, expected).right).toBe(false)
  })

  it('the answer check wants the words that all is well where all is', () => {
    const none = { ...expected, notPermissive: new Map() }
    expect(checkAnswer('1352 dependencies, none of them otherwise.', none).right).toBe(true)
    expect(checkAnswer('1352 dependencies.', none).right).toBe(false)
  })
})
