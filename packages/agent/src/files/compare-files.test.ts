import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { changedFilesLimits } from '@flotilla/protocol/changed-files'
import type { ChatFrame } from '@flotilla/protocol/agent-api'
import { chatFrameSchema } from '@flotilla/protocol/agent-api'
import { describe, expect, test } from 'vitest'
import { compareFiles, entriesReadMax, seeFiles } from './compare-files.ts'
import { createFileWatch } from './file-watch.ts'

function aFolder() {
  const data = mkdtempSync(join(tmpdir(), 'compare-'))
  const write = (path: string, text: string): void => {
    mkdirSync(join(data, path, '..'), { recursive: true })
    writeFileSync(join(data, path), text)
  }
  return { data, folder: { dataDirectory: data, ownFolder: 'workspace/memory' }, write }
}

describe('files that differ below /data', () => {
  test('made, changed and removed files are named with their sizes, and the others are not', () => {
    const { data, folder, write } = aFolder()
    write('same.txt', 'same')
    write('code/a.ts', 'a')
    write('old.txt', 'gone')
    const before = seeFiles(folder)
    write('code/a.ts', 'longer')
    write('code/b.ts', 'new')
    rmSync(join(data, 'old.txt'))
    expect(compareFiles(before, seeFiles(folder))).toEqual({
      files: [
        { path: 'code/a.ts', change: 'changed', size_bytes: 6 },
        { path: 'code/b.ts', change: 'made', size_bytes: 3 },
        { path: 'old.txt', change: 'removed', size_bytes: 4 },
      ],
      unlisted: 0,
      is_partial: false,
    })
  })

  test('a program that sets the time of modification back does not hide its change', async () => {
    const { data, folder, write } = aFolder()
    write('a.txt', 'one')
    const old = new Date(1_000_000_000_000)
    utimesSync(join(data, 'a.txt'), old, old)
    const before = seeFiles(folder)
    // The kernel's clock of files advances in steps of some milliseconds.
    await expect
      .poll(() => {
        write('a.txt', 'two')
        utimesSync(join(data, 'a.txt'), old, old)
        return compareFiles(before, seeFiles(folder)).files
      })
      .toMatchObject([{ path: 'a.txt', change: 'changed' }])
  })

  test('state, packages, version control and links are left out, and links are not followed', () => {
    const { data, folder, write } = aFolder()
    const { data: outside, write: writeOutside } = aFolder()
    writeOutside('secret', 'secret')
    const before = seeFiles(folder)
    for (const path of [
      '.flotilla/state',
      '.npm/x',
      '.claude.json',
      'repo/.git/HEAD',
      'repo/node_modules/a/b.js',
    ])
      write(path, 'x')
    write('workspace/memory/2026-11-29.md', 'a log')
    write('repo/.github/ci.yml', 'seen')
    symlinkSync(outside, join(data, 'link'))
    expect(compareFiles(before, seeFiles(folder)).files.map(({ path }) => path)).toEqual([
      'repo/.github/ci.yml',
    ])
  })

  test('more files than one list names are counted, and a long path is cut', () => {
    const { folder, write } = aFolder()
    const before = seeFiles(folder)
    for (let index = 0; index < changedFilesLimits.listedMax + 3; index += 1) write(`f${index}`, '')
    write(`${'d/'.repeat(120)}end`, '')
    const changes = compareFiles(before, seeFiles(folder))
    expect([changes.files.length, changes.unlisted]).toEqual([changedFilesLimits.listedMax, 4])
    expect(chatFrameSchema.safeParse({ type: 'files_changed', ...changes }).success).toBe(true)
    expect(changes.files[0]?.path).toHaveLength(changedFilesLimits.pathMaxChars)
  })

  test('a reading ends at its limit also if there are only empty folders and links', () => {
    for (const add of [(path: string) => mkdirSync(path), (path: string) => symlinkSync('nowhere', path)]) {
      const { data, folder } = aFolder()
      for (let index = 0; index < entriesReadMax; index += 1) add(join(data, `f${index}`))
      expect(seeFiles(folder).isPartial).toBe(false)
      add(join(data, 'one-more'))
      expect(seeFiles(folder).isPartial).toBe(true)
      rmSync(data, { recursive: true })
    }
  })

  test('with more files than are compared, no file counts as made or removed because it was not read', () => {
    const one = { sizeBytes: 1, changedAtMs: 1 }
    const whole = { byPath: new Map([['a', one]]), isPartial: false }
    const part = { byPath: new Map([['b', one]]), isPartial: true }
    expect(compareFiles(whole, part)).toMatchObject({ files: [{ path: 'b' }], is_partial: true })
    expect(compareFiles(part, whole)).toEqual({
      files: [{ path: 'b', change: 'removed', size_bytes: 1 }],
      unlisted: 0,
      is_partial: true,
    })
  })
})

describe('the watch of a run', () => {
  test('a run that calls a tool reports what changed since its first call; one that calls none reports nothing', () => {
    const { folder, write } = aFolder()
    const passed: ChatFrame[] = []
    const onFrame = (frame: ChatFrame): void => void passed.push(frame)
    const watch = createFileWatch(folder, { onFrame, begins: false })
    write('before.txt', 'x')
    watch.end()
    expect(passed).toEqual([])
    watch.onFrame({ type: 'tool_start', step: 1, name: 'write_file', input: {} })
    write('after.txt', 'x')
    watch.onFrame({ type: 'tool_start', step: 2, name: 'write_file', input: {} })
    watch.end()
    expect(passed.map(({ type }) => type)).toEqual(['tool_start', 'tool_start', 'files_changed'])
    expect(passed.at(-1)).toMatchObject({ files: [{ path: 'after.txt', change: 'made' }] })
  })

  test('a harness may change files before it reports a call, so that its runs are watched from their beginning', () => {
    const { folder, write } = aFolder()
    const passed: ChatFrame[] = []
    const watch = createFileWatch(folder, { onFrame: (frame) => passed.push(frame), begins: true })
    write('early.txt', 'x')
    watch.end()
    expect(passed).toMatchObject([{ type: 'files_changed', files: [{ path: 'early.txt' }] }])
  })
})
