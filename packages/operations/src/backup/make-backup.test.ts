import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dataPaths } from '../../../foundation/src/config/data-paths.ts'
import { openDatabase } from '../../../foundation/src/storage/index.ts'
import { listHomeFiles } from './list-home-files.ts'
import { makeBackup } from './make-backup.ts'
import type { RoomIn } from './require-room.ts'

const mb = 1024 * 1024
async function aHome() {
  const folder = await mkdtemp(join(tmpdir(), 'make-backup-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const paths = dataPaths(join(folder, 'home'))
  await mkdir(join(paths.home, 'data'), { recursive: true })
  await mkdir(join(paths.home, 'config'), { recursive: true })
  const database = openDatabase(paths.database)
  database.prepare('CREATE TABLE agents (id TEXT)').run()
  database.prepare('CREATE TABLE schema_steps (version INTEGER)').run()
  database.prepare("INSERT INTO agents VALUES ('a')").run()
  database.close()
  await writeFile(join(paths.home, 'config', 'settings.json'), Buffer.alloc(2 * mb))
  const target = join(folder, 'target')
  await mkdir(target)
  const make = (roomIn: RoomIn | undefined, agentsBytes: number | null) =>
    makeBackup({
      paths,
      file: join(target, 'backup'),
      passphrase: null,
      secrets: false,
      homeId: 'home_0',
      product: '0',
      runtime: 'process',
      now: 0,
      pid: 1,
      randomBytes: (count) => Buffer.alloc(count),
      agents: {
        without: [],
        read: async () => null,
        dataLimitBytes: () => 2 ** 30,
        measure: async () => agentsBytes,
      },
      progress: () => {},
      moved: () => {},
      ...(roomIn === undefined ? {} : { roomIn }),
      signal: new AbortController().signal,
    })
  const rooms =
    (home: number, there: number): RoomIn =>
    async (folderOf) =>
      folderOf === target ? { free: there, disk: 'b' } : { free: home, disk: 'a' }
  return { paths, target, make, rooms }
}

const full = expect.objectContaining({ code: 'disk-full' })

test.each([
  ['the disk of the home has no room for the copy of the database', 1 * mb, 100 * mb, 0],
  ['the other disk has no room for the files', 100 * mb, 17 * mb, 0],
  ['the other disk has no room for what agents keep', 100 * mb, 50 * mb, 40 * mb],
])('a backup is refused before it begins where %s', async (...[, home, there, agents]) => {
  const { paths, target, make, rooms } = await aHome()
  await expect(make(rooms(home, there), agents)).rejects.toEqual(full)
  expect(await readdir(target)).toEqual([])
  expect(await readdir(paths.runtimeFolder).catch(() => [])).toEqual([])
})

test('a folder that is not there is named, is not made, and nothing is written', async () => {
  const { target, make } = await aHome()
  await rm(target, { recursive: true })
  await expect(make(undefined, 0)).rejects.toEqual(
    expect.objectContaining({ code: 'not-found', repair: expect.stringContaining('mkdir -p') }),
  )
  await expect(readdir(target)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('one disk must have room for both', async () => {
  const { make } = await aHome()
  const one = (free: number) => async () => ({ free, disk: 'a' })
  await expect(make(one(18 * mb), 0)).rejects.toEqual(full)
  expect((await make(one(30 * mb), 0)).files).toBe(1)
})

test('agents’ data of unknown size does not prevent a backup', async () => {
  const { make, rooms } = await aHome()
  expect((await make(rooms(40 * mb, 40 * mb), null)).agents).toBe(1)
})

test('a file where a home has a folder is left out by name, and the rest is backed up', async () => {
  const { paths, make } = await aHome()
  await writeFile(join(paths.home, 'cassettes'), 'no folder')
  const made = await make(undefined, 0)
  expect(made.files).toBe(1)
  expect(JSON.stringify(made)).toContain('cassettes')
})

test.each([true, false])(
  'a secret that is a folder is refused by name, with a file in it: %s',
  async (hasFile) => {
    const { paths } = await aHome()
    await mkdir(join(paths.home, '.env'))
    if (hasFile) await writeFile(join(paths.home, '.env', 'x'), '')
    expect(() => listHomeFiles(paths, { secrets: true, passphrase: null })).toThrow(
      expect.objectContaining({
        code: 'unprocessable',
        detail: expect.stringContaining('.env: it is a folder'),
      }),
    )
    expect(listHomeFiles(paths, { secrets: false, passphrase: null }).files).toHaveLength(1)
  },
)
