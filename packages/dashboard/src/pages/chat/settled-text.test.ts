import { describe, expect, it } from 'vitest'
import { settledText } from './settled-text.ts'

/** The text after each further letter. */
const growing = (text: string): readonly string[] =>
  Array.from({ length: text.length }, (_, at) => text.slice(0, at + 1))
const steps = (text: string): readonly string[] => growing(text).map(settledText)

describe('a text that streams in', () => {
  it('a text that streams in shows plain words as they come', () => {
    expect(steps('It is 4.5 - so.')).toEqual(growing('It is 4.5 - so.'))
  })

  it('a text that streams in is never a heading or a rule for a moment, because an item of a list has only begun', () => {
    for (const shown of steps('Found:\n- one\n- two\n\n**bold**')) expect(shown).not.toMatch(/\n\s*[-*]+\s*$/)
    expect(settledText('Found:\n-')).toBe('Found:')
    expect(settledText('Found:\n- o')).toBe('Found:\n- o')
    expect(settledText('Sum\n12')).toBe('Sum')
    expect(settledText('Sum\n12 of them')).toBe('Sum\n12 of them')
  })

  it('a text that streams in shows a table from the line below its head on, and each row when it is whole', () => {
    const shown = steps('So:\n| a | b |\n|---|---|\n| 1 | 2 |\nEnd')
    const tables = shown.filter((text) => text.includes('|'))
    expect(tables[0]).toBe('So:\n| a | b |\n|---|---|\n')
    expect(tables.some((text) => /\| 1 *$/.test(text))).toBe(false)
    expect(shown.at(-1)).toBe('So:\n| a | b |\n|---|---|\n| 1 | 2 |\nEnd')
  })

  it('a text that streams in leaves marks alone in a block of code', () => {
    expect(settledText('```sh\nls |\n-')).toBe('```sh\nls |\n-')
    expect(settledText('```sh\n| x')).toBe('```sh\n| x')
    expect(settledText('```sh\nls\n```\n-')).toBe('```sh\nls\n```')
  })

  it('a text that streams in loses nothing: what is held back comes with the next words', () => {
    const whole = 'A\n\n1. one\n2. two\n\n---\n\n| a |\n|---|\n| 1 |\n\nEnd.'
    expect(steps(whole).at(-1)).toBe(whole)
    for (const shown of steps(whole)) expect(whole.startsWith(shown)).toBe(true)
  })
})
