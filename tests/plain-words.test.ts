import { describe, expect, test } from 'vitest'
import allowed from './plain-words-allowed.json' with { type: 'json' }
import { avoidedWords, commentsOf, countAvoidedWords, messagesOf } from './plain-words.ts'
import type { Counts } from './plain-words.ts'
import { longSentenceWords, readabilityOf, readabilityOfDocuments } from './readability.ts'

const counts = countAvoidedWords()
const mostAllowed: Counts = allowed

describe('words that this project avoids', () => {
  test('no area has more of them than the allow-list says', () => {
    const more = Object.entries(counts).flatMap(([area, words]) =>
      Object.entries(words)
        .filter(([word, count]) => count > (mostAllowed[area]?.[word] ?? 0))
        .map(([word, count]) => {
          const replacement = avoidedWords.find((one) => one.word === word)?.replacement
          return `${area}: "${word}" ${count} times, allowed ${mostAllowed[area]?.[word] ?? 0}; replacement: ${replacement}`
        }),
    )
    expect(more).toEqual([])
  })

  test('the allow-list allows no more than there is (npm run docs lowers it)', () => {
    const tooMuch = Object.entries(mostAllowed).flatMap(([area, words]) =>
      Object.entries(words)
        .filter(([word, count]) => count > (counts[area]?.[word] ?? 0))
        .map(([word]) => `${area}: ${word}`),
    )
    expect(tooMuch).toEqual([])
  })

  test('words that this project avoids are found in comments and in messages, and not in code', () => {
    const source = "/** Whoever asks. */\nconst nobody = f('It is told to nobody who asks')\n// one more\n"
    expect(commentsOf(source).map((comment) => comment.trim())).toEqual(['Whoever asks.', 'one more'])
    expect(messagesOf(source)).toEqual(['It is told to nobody who asks'])
    expect(messagesOf('f(`the level ${rung} is not available`)')).toEqual(['the level … is not available'])
  })
})

describe('sentences of documents', () => {
  test('sentences of documents are counted in prose and lists, not in code, tables and headings', () => {
    const page =
      '# A heading. With two.\n\nOne two three. Four five.\n\n- six seven\n\n| a. b |\n\n```sh\nx y. z\n```\n'
    expect(readabilityOf(page)).toEqual({ sentences: 3, averageWords: 7 / 3, longShare: 0 })
  })

  test('sentences of documents are at most 20 words long on average, and at most one in ten is long', () => {
    const hard = readabilityOfDocuments().filter(
      ({ averageWords, longShare }) => averageWords > 20 || longShare > 0.1,
    )
    expect(hard, `a long sentence has more than ${longSentenceWords} words`).toEqual([])
  })
})
