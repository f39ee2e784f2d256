import type { Readings } from './condition-readings.ts'
import { createTextFinder } from './text-finder.ts'
import type { FindTexts } from './text-finder.ts'

/** The beginning of a text that is searched, in characters; a longer one takes more memory and excludes no more rules. */
const searchedMaxChars = 32

interface Searched {
  of: Readings | null
  readings: number
}

/**
 * Searches the texts of all conditions in one value of an effect at once: 500 conditions on parts of a path then read
 * the path once. Returns a function that adds a text, which is not empty; its result gives the readings in which the
 * text may occur, and leaves out only readings in which it does not. If there is one value, it is that of all readings.
 */
export function createTextSearch(
  textsOf: (of: Readings) => readonly unknown[],
): (text: string) => (of: Readings) => number {
  const searched = new Map<string, Searched>()
  let find: FindTexts | null = null
  let last: Readings | null = null

  function search(of: Readings): void {
    if (last === of) return
    find ??= createTextFinder(searched.keys())
    const texts = textsOf(of)
    for (const [at, text] of texts.entries()) {
      if (typeof text !== 'string') throw new TypeError('the value of a variable is not a text')
      const readings = texts.length === 1 ? of.all : 1 << at
      for (const found of find(text)) {
        const one = searched.get(found)
        if (one === undefined) continue
        one.readings = (one.of === of ? one.readings : 0) | readings
        one.of = of
      }
    }
    last = of
  }

  return (text) => {
    const beginning = text.slice(0, searchedMaxChars)
    const one: Searched = searched.get(beginning) ?? { of: null, readings: 0 }
    searched.set(beginning, one)
    find = null
    last = null
    return (of) => {
      search(of)
      return one.of === of ? one.readings : 0
    }
  }
}
