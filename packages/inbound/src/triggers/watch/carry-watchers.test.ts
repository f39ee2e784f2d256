import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createFileEditor } from '../../../../foundation/src/config/atomic-file.ts'
import { createFileWatches } from './carry-watchers.ts'
import type { FileWatches } from './carry-watchers.ts'
import { readFolder } from './read-folder.ts'

const entry = { path: '/srv/in', pattern: '*', agent: 'scout', message: 'm' }
const changes = [{ before: null, after: entry }]
const mine = '#  mine,   as   I   set   it\nwatchers:\n    - {path: /a,   pattern: p, agent: a, message: m}\n'

let folder: string
let path: string
let watches: FileWatches
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-watchers-'))
  path = join(folder, 'watchers.yaml')
  watches = createFileWatches({
    path,
    editor: createFileEditor(),
    scanFolder: async (at, { pattern }) => readFolder(at, pattern, () => false),
  })
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function written(): Promise<NonNullable<Awaited<ReturnType<FileWatches['prepare']>>>> {
  const edit = await watches.prepare(changes)
  if (edit === null) throw new Error('nothing to write')
  await watches.write(edit)
  expect(watches.entries()).toContainEqual(entry)
  return edit
}

test('a reverted edit leaves the watchers file byte for byte as it was', async () => {
  await writeFile(path, mine, { mode: 0o640 })
  const edit = await written()
  expect((await stat(path)).mode & 0o777).toBe(0o640)
  await watches.takeBack(edit)
  expect(await readFile(path, 'utf8')).toBe(mine)
  await watches.takeBack(edit)
  expect(await readFile(path, 'utf8')).toBe(mine)
})

test('a reverted edit deletes a file that did not exist', async () => {
  await watches.takeBack(await written())
  await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
  expect(watches.entries()).toEqual([])
})

test('an edit by hand before the write is not overwritten', async () => {
  const edit = await watches.prepare(changes)
  await writeFile(path, mine)
  await expect(watches.write(edit!)).rejects.toMatchObject({ code: 'conflict' })
  await watches.takeBack(edit!)
  expect(await readFile(path, 'utf8')).toBe(mine)
})

test('an edit by hand after the write is kept, and the written entries are reverted', async () => {
  const edit = await written()
  const own = '  # own\n  - { path: /b, pattern: q, agent: bob, message: n }\n'
  await writeFile(path, `${await readFile(path, 'utf8')}${own}`)
  await watches.takeBack(edit)
  expect(watches.entries()).toEqual([{ path: '/b', pattern: 'q', agent: 'bob', message: 'n' }])
  expect(await readFile(path, 'utf8')).toContain('# own')
})

test('a written entry that was changed by hand stays', async () => {
  const edit = await written()
  await writeFile(path, (await readFile(path, 'utf8')).replace('message: m', 'message: mine'))
  await watches.takeBack(edit)
  expect(watches.entries()).toEqual([{ ...entry, message: 'mine' }])
})

test('a file that was broken by hand cannot be reverted, and this is reported', async () => {
  const edit = await written()
  await writeFile(path, 'watchers: [')
  await expect(watches.takeBack(edit)).rejects.toMatchObject({ code: 'unprocessable' })
})

test('missing folders and paths that are not folders are reported with the reason, others are not', async () => {
  await mkdir(join(folder, 'in'))
  await writeFile(join(folder, 'file'), '')
  const [there, none, missing] = ['in', 'file', 'gone'].map((name) => join(folder, name))
  const troubles = await watches.troubles([there!, none!, missing!, missing!])
  expect([...troubles.keys()]).toEqual([none, missing])
  expect(troubles.get(missing!)).toBe(
    `there is no folder ${missing} on this machine; the watcher waits for it`,
  )
  expect(troubles.get(none!)).toContain('cannot be read')
})
