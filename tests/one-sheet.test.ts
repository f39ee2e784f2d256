import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const sheets = globSync('packages/dashboard/src/**/*.css', { cwd: root })

/**
 * Classes whose rules consist of that class alone, outside of any media query; such a rule applies wherever the
 * class is used.
 */
function classesOf(text: string): readonly string[] {
  const everywhere = text
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/@media[^{]*\{(?:[^{}]*\{[^{}]*\})*\s*\}/g, '')
  const selectors = [...everywhere.matchAll(/([^{}]+)\{/g)].flatMap(([, list = '']) => list.split(','))
  return selectors.map((one) => one.trim()).filter((one) => /^\.[\w-]+$/.test(one))
}

describe('the sheets of the dashboard', () => {
  it('each class is styled in one sheet: sheets load with the pages, in the order of visits', () => {
    const homes = new Map<string, Set<string>>()
    for (const sheet of sheets) {
      for (const name of classesOf(readFileSync(join(root, sheet), 'utf8'))) {
        homes.set(name, (homes.get(name) ?? new Set()).add(sheet))
      }
    }
    expect(homes.size).toBeGreaterThan(100)
    const shared = [...homes].filter(([, found]) => found.size > 1).map(([name, found]) => [name, ...found])
    expect(shared).toEqual([])
  })
})
