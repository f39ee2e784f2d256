import { expect, test } from 'vitest'
import { activateWatch, filesMax, scanWatch } from './scan-watch.ts'
import type { ScanFolder } from './scan-folder.ts'
import { readWatchers } from './read-watchers.ts'

const room = 3

/** One watch with space for three files, because of other watches. Its folders are lists of names. */
function aFullHouse() {
  const reading = readWatchers(
    'watchers:\n  - {path: /in, pattern: "*", agent: scout, message: "see {filename}"}',
  )
  if (!reading.ok || !reading.rules[0]) throw new Error('the rule is broken')
  const watch = activateWatch(reading.rules[0], [])
  const scan = async (...names: string[]) => {
    const scanFolder: ScanFolder = async (_path, { each }) => {
      const isWhole = names.every((name) =>
        each(name, { modifiedMs: 1, changedMs: 1, sizeBytes: 1, inode: 1 }),
      )
      return { kind: 'whole', leftOut: !isWhole }
    }
    const signal = new AbortController().signal
    return scanWatch(watch, { scanFolder, othersRemember: filesMax - room, dueMax: 10, now: 0, signal })
  }
  return { watch, scan }
}

test('files that are renamed at every scan are not remembered endlessly', async () => {
  const { watch, scan } = aFullHouse()
  for (let round = 0; round < 20; round++) {
    await scan(...['a', 'b', 'c', 'd'].map((name) => `${name}${round}`))
    expect(watch.seen.size).toBeLessThanOrEqual(room)
    expect(watch.trouble).toContain('the rest is not watched')
  }
})

test('a folder that fits again is watched completely, and files that came meanwhile fire', async () => {
  const { watch, scan } = aFullHouse()
  await scan('a', 'b', 'c', 'd')
  await scan('new')
  expect(watch.trouble).toContain('the rest is not watched')
  await scan('new')
  expect(watch.trouble).toBeNull()
  expect((await scan('new')).due.map(({ name }) => name)).toEqual(['new'])
  expect(watch.seen.size).toBe(1)
})
