import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSeenFiles } from './seen-files.ts'
import type { FileStat } from './seen-files.ts'

const aStat = (more: Partial<FileStat> = {}): FileStat => ({
  modifiedMs: 1000.5,
  changedMs: 1000.5,
  sizeBytes: 10,
  inode: 7,
  ...more,
})

describe('the memory of a watch', () => {
  test('a growing file is one change, and stable when two scans see the same', () => {
    const seen = createSeenFiles()
    const round = (sizeBytes: number) => {
      seen.beginRound(0)
      const found = seen.observe('f', aStat({ sizeBytes }), false)
      seen.endRound()
      return found
    }
    expect(round(1)).toMatchObject({ waiting: 'added', isNoticed: true, isStill: false })
    expect(round(2)).toMatchObject({ waiting: 'added', isNoticed: false, isStill: false })
    expect(round(2)).toMatchObject({ waiting: 'added', isNoticed: false, isStill: true })
    expect(seen.waiting).toBe(1)
    seen.quiet('f')
    expect(round(2)).toMatchObject({ waiting: null, isNoticed: false, isStill: true })
    expect(round(3)).toMatchObject({ waiting: 'modified', isNoticed: true, isStill: false })
  })

  test.each([
    ['permissions only', { changedMs: 2000 }, null],
    ['an inode number that a mount invented', { inode: 8 }, null],
    ['another file in its place', { inode: 8, changedMs: 2000 }, 'modified'],
    ['only the time', { modifiedMs: 1000.75 }, 'modified'],
    ['only the size', { sizeBytes: 11 }, 'modified'],
  ] as const)('%s: %o', (_what, more, waiting) => {
    const seen = createSeenFiles()
    seen.observe('f', aStat(), true)
    expect(seen.observe('f', aStat(more), false).waiting).toBe(waiting)
  })

  test('a file that was away counts as new, and its change is dropped', () => {
    const seen = createSeenFiles()
    seen.beginRound(0)
    seen.observe('f', aStat(), true)
    seen.observe('g', aStat(), false)
    seen.endRound()
    seen.beginRound(0)
    expect(seen.endRound()).toEqual(['g'])
    expect(seen).toMatchObject({ size: 0, waiting: 0 })
    expect(seen.observe('f', aStat(), false)).toMatchObject({ waiting: 'added', isNoticed: true })
  })

  test('a change of a previous process keeps waiting, although the first scan is silent', () => {
    const seen = createSeenFiles()
    seen.recall({ name: 'f', stat: aStat(), change: 'modified', noticedAt: 0 })
    expect(seen.observe('f', aStat(), true)).toMatchObject({
      waiting: 'modified',
      isNoticed: false,
      isStill: true,
    })
  })

  test('a change waits from the first round that saw it, however often the file changes', () => {
    const seen = createSeenFiles()
    const round = (now: number, sizeBytes: number) => {
      seen.beginRound(now)
      const { noticedAt } = seen.observe('f', aStat({ sizeBytes }), false)
      seen.endRound()
      return noticedAt
    }
    expect([round(1000, 1), round(2000, 2), round(3000, 2)]).toEqual([1000, 1000, 1000])
    seen.quiet('f')
    // A file that is not changing has the time of the scan; then it changes again.
    expect([round(4000, 2), round(5000, 3), round(6000, 4)]).toEqual([4000, 5000, 5000])
    // A clock that was set back does not extend the wait, even when it has caught up.
    expect([round(500, 4), round(7000, 4)]).toEqual([500, 500])
  })

  test('a new file that is accepted silently has no waiting change', () => {
    const seen = createSeenFiles()
    seen.beginRound(1000)
    expect(seen.observe('f', aStat(), true)).toEqual({
      waiting: null,
      noticedAt: 1000,
      isNoticed: false,
      isStill: false,
    })
    expect(seen.observe('g', aStat(), false)).toEqual({
      waiting: 'added',
      noticedAt: 1000,
      isNoticed: true,
      isStill: false,
    })
    expect([seen.has('f'), seen.has('h'), seen.waiting]).toEqual([true, false, 1])
    seen.quiet('h')
    expect([seen.size, seen.waiting]).toEqual([2, 1])
  })

  test.each(['added', 'modified'] as const)(
    'a change of a previous process (%s) waits since then, and replaces nothing that this process has seen',
    (change) => {
      const seen = createSeenFiles()
      seen.recall({ name: 'f', stat: aStat(), change, noticedAt: 300 })
      expect(seen.waiting).toBe(1)
      seen.beginRound(1000)
      const found = { waiting: change, noticedAt: 300, isNoticed: false, isStill: true }
      expect(seen.observe('f', aStat(), false)).toEqual(found)
      seen.recall({ name: 'f', stat: aStat({ sizeBytes: 99 }), change, noticedAt: 100 })
      expect(seen.observe('f', aStat(), false)).toEqual(found)
      expect([seen.size, seen.waiting]).toEqual([1, 1])
    },
  )

  test('growing the memory keeps what is known', () => {
    const seen = createSeenFiles()
    const scan = (from: number, to: number, silent: boolean) =>
      Array.from({ length: to - from }, (_, at) =>
        seen.observe(`f${from + at}`, aStat({ sizeBytes: from + at, inode: from + at }), silent),
      )
    seen.beginRound(1000)
    scan(0, 32, false)
    scan(32, 64, true)
    expect(seen.endRound()).toEqual([])
    // While it grows, only some were seen: those before the 16th and after the 48th are missing.
    seen.beginRound(2000)
    const known = scan(16, 48, false)
    scan(64, 300, true)
    expect(known.map(({ isStill }) => isStill)).not.toContain(false)
    expect(known.filter(({ waiting }) => waiting === 'added')).toHaveLength(16)
    expect(known.slice(0, 16).map(({ noticedAt }) => noticedAt)).toEqual(
      Array.from({ length: 16 }, () => 1000),
    )
    expect(seen.endRound()).toEqual(Array.from({ length: 16 }, (_, at) => `f${at}`))
    expect([seen.size, seen.waiting]).toEqual([32 + 236, 16])
    seen.beginRound(3000)
    expect(scan(16, 48, false).map(({ isStill }) => isStill)).not.toContain(false)
    expect(scan(64, 300, false).map(({ waiting }) => waiting)).not.toContain('modified')
  })

  test('the memory behaves like a plain map, whatever files come and go', () => {
    const step = fc.array(fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 3 })), {
      maxLength: 40,
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (rounds) => {
        const seen = createSeenFiles()
        const model = new Map<string, { size: number; waits: boolean }>()
        for (const round of rounds) {
          const files = new Map(round.map(([name, size]) => [`f${name}`, size]))
          const gone = [...model].filter(([name]) => !files.has(name))
          seen.beginRound(0)
          for (const [name, size] of files) {
            const before = model.get(name)
            const waits = !before || before.waits || before.size !== size
            expect(seen.observe(name, aStat({ sizeBytes: size }), false)).toMatchObject({
              isStill: before?.size === size,
              isNoticed: waits && !before?.waits,
            })
            const fires = waits && before?.size === size
            if (fires) seen.quiet(name)
            model.set(name, { size, waits: waits && !fires })
          }
          for (const [name] of gone) model.delete(name)
          expect(seen.endRound().toSorted()).toEqual(
            gone
              .filter(([, { waits }]) => waits)
              .map(([name]) => name)
              .toSorted(),
          )
          expect(seen.size).toBe(model.size)
          expect(seen.waiting).toBe([...model.values()].filter(({ waits }) => waits).length)
        }
      }),
    )
  })

  test('a file costs at most 200 bytes, so a million fit into 200 MB', async () => {
    const files = process.env['FLOTILLA_SOAK'] === '1' ? 1_000_000 : 100_000
    // In a separate process, because garbage of other tests would be measured.
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--expose-gc',
      '--input-type=module',
      '--eval',
      `import { createSeenFiles } from ${JSON.stringify(join(import.meta.dirname, 'seen-files.ts'))}
      const used = () => {
        gc()
        const { heapUsed, arrayBuffers } = process.memoryUsage()
        return heapUsed + arrayBuffers
      }
      const seen = createSeenFiles()
      const before = used()
      for (let n = 0; n < ${files}; n++) {
        const stat = { modifiedMs: 1000.5, changedMs: 1000.5, sizeBytes: 10, inode: n }
        seen.observe('file-' + n + '.csv', stat, true)
      }
      const perFile = (used() - before) / seen.size
      console.log(JSON.stringify({ size: seen.size, perFile }))`,
    ])
    const { size, perFile } = JSON.parse(stdout) as { size: number; perFile: number }
    expect(size).toBe(files)
    expect(perFile).toBeGreaterThan(32)
    expect(perFile).toBeLessThan(200)
  })
})
