import { randomBytes } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { dataPaths, openHomeFolder } from '../../../foundation/src/config/index.ts'
import type { DataPaths } from '../../../foundation/src/config/index.ts'
import { SandboxError } from '../../../fleet/src/sandbox/index.ts'
import { tarArchive, tarFile } from '../../../fleet/src/sandbox/tar-archive.ts'
import { openDatabase } from '../../../foundation/src/storage/index.ts'
import { makeBackup } from './make-backup.ts'
import type { BackupOptions } from './make-backup.ts'
import { restoreBackup } from './restore-backup.ts'
import { verifyBackup } from './verify-backup.ts'

const owner = { uid: 1000, mode: 0o600 }
type Data = AsyncIterable<Uint8Array> | Error

async function* broken(): AsyncGenerator<Uint8Array> {
  for await (const piece of tarArchive([tarFile('note', Buffer.alloc(50_000, 'b'), owner)])) {
    yield piece.subarray(0, 10_000)
    throw new Error('the engine has gone away')
  }
}

const kept = (content: Buffer): Data => tarArchive([tarFile('note', content, owner)])

type Changes = Partial<Pick<BackupOptions, 'secrets' | 'progress'>> & {
  readonly without?: readonly string[]
  readonly limitBytes?: number
}

/** A home with these agents, and functions to back it up. */
async function aHome(agents: Readonly<Record<string, () => Data>>) {
  const folder = await mkdtemp(join(tmpdir(), 'damaged-parts-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const paths = dataPaths(join(folder, 'home'))
  await mkdir(paths.dataFolder, { recursive: true })
  await mkdir(paths.configFolder)
  const database = openDatabase(paths.database)
  database.prepare('CREATE TABLE agents (id TEXT)').run()
  database.prepare('CREATE TABLE schema_steps (version INTEGER)').run()
  for (const agent of Object.keys(agents)) database.prepare('INSERT INTO agents VALUES (?)').run(agent)
  database.close()
  await writeFile(paths.envFile, 'KEY=planted\n')
  await writeFile(paths.settingsFile, '{}')
  const file = join(folder, 'backup')
  const make = (changes: Changes = {}) =>
    makeBackup({
      paths,
      file,
      passphrase: null,
      secrets: true,
      homeId: 'home_0',
      product: '0',
      runtime: 'process',
      now: 0,
      pid: process.pid,
      randomBytes,
      agents: {
        without: changes.without ?? [],
        read: async (agent) => {
          const tar = agents[agent]?.() ?? new Error('unknown')
          if (tar instanceof Error) throw tar
          return { tar, held: () => true, leave: async () => {} }
        },
        dataLimitBytes: () => changes.limitBytes ?? 2 ** 30,
        measure: async () => null,
      },
      progress: () => {},
      moved: () => {},
      signal: new AbortController().signal,
      ...(changes.secrets === undefined ? {} : { secrets: changes.secrets }),
      ...(changes.progress === undefined ? {} : { progress: changes.progress }),
    })
  return { folder, paths, file, make }
}

/** Restores a file and returns the restored data of each agent. */
async function restored(
  { file, folder }: { readonly file: string; readonly folder: string },
  more: { readonly without?: readonly string[]; readonly fails?: readonly string[] } = {},
) {
  const asked = { file, passphrase: null, moved: () => {} }
  const verified = await verifyBackup({ ...asked, temporary: folder })
  const paths = dataPaths(await mkdtemp(join(folder, 'new-')))
  const data: Record<string, Buffer> = {}
  const { leftOut } = await restoreBackup({
    ...asked,
    paths,
    verified,
    without: more.without ?? [],
    agentsElsewhere: false,
    openHome: () => openHomeFolder(paths),
    openAgents: async () => ({
      prepare: async () => {},
      write: async (agent, tar) => {
        const pieces: Uint8Array[] = []
        for await (const piece of tar) {
          if (more.fails?.includes(agent)) throw new SandboxError('full', 'No space left.\nRepair: more.')
          pieces.push(piece)
        }
        data[agent] = Buffer.concat(pieces)
      },
      close: async () => {},
    }),
    progress: () => {},
  })
  return { paths, data, leftOut, verified }
}

test('an agent with truncated or unreadable data is left out by name, and the others are kept', async () => {
  const good = randomBytes(100_000)
  const home = await aHome({ a: broken, b: () => kept(good), c: () => new Error('its volume is missing') })
  const made = await home.make()
  const named = [
    { agent: 'a', why: 'the engine has gone away' },
    { agent: 'c', why: 'its volume is missing' },
  ]
  expect(made).toMatchObject({ agents: 3, left_out: named, skipped: [] })
  const { data, leftOut } = await restored(home)
  expect(Object.keys(data)).toEqual(['b'])
  expect(data['b']?.includes(good)).toBe(true)
  expect(leftOut).toEqual(named)
})

/** An engine ends an archive in order where a file became shorter than its header says. */
async function* shortened(): AsyncGenerator<Uint8Array> {
  const whole = await Array.fromAsync(tarArchive([tarFile('note', Buffer.alloc(50_000, 'b'), owner)]))
  yield Buffer.concat(whole).subarray(0, 10_000)
}

test('an agent whose archive ends early is kept as far as it goes, and named', async () => {
  const good = randomBytes(1000)
  const home = await aHome({ a: shortened, b: () => kept(good) })
  const made = await home.make()
  expect(made.left_out).toEqual([])
  expect(made.skipped).toMatchObject([
    { agent: 'a', count: 1, first: [{ name: 'note' }], ended_by: expect.stringContaining('ended early') },
  ])
  const { data, verified } = await restored(home)
  expect(data['a']?.includes('b'.repeat(9000))).toBe(true)
  expect(data['b']?.includes(good)).toBe(true)
  expect(verified.agents[0]).toMatchObject({
    state: 'there',
    endedBy: expect.stringContaining('ended early'),
  })
})

test('where no agent can be read the backup fails by the reason, and leaves nothing', async () => {
  const home = await aHome({ a: () => new Error('no engine'), b: () => new Error('no engine') })
  await expect(home.make()).rejects.toThrow('no engine')
  expect(await readdir(home.folder)).toEqual(['home'])
})

test('agents are left out of a backup and of a restore when their names are given, and unknown names are refused', async () => {
  const home = await aHome({ a: () => kept(randomBytes(10)), b: () => kept(randomBytes(10)) })
  await expect(home.make({ without: ['c'] })).rejects.toMatchObject({
    code: 'not-found',
    detail: expect.stringContaining('no agent c'),
  })
  const made = await home.make({ without: ['a'] })
  expect(made.left_out).toEqual([{ agent: 'a', why: 'left out by --without' }])
  expect(Object.keys((await restored(home)).data)).toEqual(['b'])
  expect(Object.keys((await restored(home, { without: ['b'] })).data)).toEqual([])
  await expect(restored(home, { without: ['c'] })).rejects.toMatchObject({ code: 'not-found' })
})

test.each([1000, 700_000])(
  'damage within the %d bytes of one agent’s data costs that agent alone, wherever it is',
  async (size) => {
    const contents = { a: randomBytes(size), b: randomBytes(size), c: randomBytes(size) }
    const home = await aHome({
      a: () => kept(contents.a),
      b: () => kept(contents.b),
      c: () => kept(contents.c),
    })
    await home.make()
    const whole = await readFile(home.file)
    const at = whole.indexOf(contents.b.subarray(0, 200))
    for (const offset of new Set([0, 400, size - 300, Math.floor(size / 2)])) {
      const changed = Buffer.from(whole)
      changed[at + offset] = (changed[at + offset] ?? 0) ^ 1
      await writeFile(home.file, changed)
      const { data, leftOut, verified } = await restored(home)
      expect(verified.agents.map(({ state }) => state)).toEqual(['there', 'damaged', 'there'])
      expect(leftOut).toEqual([{ agent: 'b', why: expect.any(String) }])
      expect(data['a']?.includes(contents.a.subarray(0, 200))).toBe(true)
      expect(data['c']?.subarray(-size - 2000).includes(contents.c.subarray(-200))).toBe(true)
      expect(Object.keys(data)).toEqual(['a', 'c'])
    }
    // Damage outside of agents' data makes the whole backup unusable.
    for (const where of [whole.indexOf('SQLite format'), whole.indexOf('KEY=planted'), whole.length - 30]) {
      const changed = Buffer.from(whole)
      changed[where] = (changed[where] ?? 0) ^ 1
      await writeFile(home.file, changed)
      await expect(restored(home)).rejects.toMatchObject({ code: 'unprocessable' })
    }
  },
)

test('a restore lists an agent whose data cannot be written and restores the others', async () => {
  const home = await aHome({ a: () => kept(randomBytes(3_000_000)), b: () => kept(randomBytes(10)) })
  await home.make()
  const { data, leftOut } = await restored(home, { fails: ['a'] })
  expect(Object.keys(data)).toEqual(['b'])
  expect(leftOut).toEqual([{ agent: 'a', why: 'No space left.' }])
  await expect(restored(home, { fails: ['a', 'b'] })).rejects.toThrow('No space left')
})

test.each(['a', 'a b', 'd e', 'a b c d e f g h'])(
  'a restore of nine agents lists those that fail and restores the others, wherever their names sort: %s',
  async (failing) => {
    const fails = failing.split(' ')
    const names = 'a b c d e f g h i'.split(' ')
    const home = await aHome(Object.fromEntries(names.map((name) => [name, () => kept(randomBytes(10))])))
    await home.make()
    const { data, leftOut } = await restored(home, { fails })
    expect(Object.keys(data)).toEqual(names.filter((name) => !fails.includes(name)))
    expect(leftOut).toEqual(fails.map((agent) => ({ agent, why: 'No space left.' })))
    await expect(restored(home, { fails: names })).rejects.toThrow('No space left')
  },
)

test('a restore of a single agent whose data cannot be written restores the home without it', async () => {
  const home = await aHome({ a: () => kept(randomBytes(10)) })
  await home.make()
  expect((await restored(home, { fails: ['a'] })).leftOut).toEqual([{ agent: 'a', why: 'No space left.' }])
})

test('a backup of an earlier release is restored, without the entries that restores skip', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'old-backup-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'backup')
  const packed = join(import.meta.dirname, '../../../../tests/support/old-backups/format-1.gz')
  const bytes = gunzipSync(await readFile(packed))
  await writeFile(file, bytes)
  const { data, leftOut, paths, verified } = await restored({ file, folder })
  expect(leftOut).toEqual([])
  expect(data['good']?.includes('of good')).toBe(true)
  expect(data['evil']?.includes('of evil')).toBe(true)
  expect(data['evil']?.includes('18 size=999999999')).toBe(true)
  expect(verified.agents).toMatchObject([
    { agent: 'evil', skipped: { count: 1, first: [{ name: './pipe', why: 'a named pipe' }] } },
    { agent: 'good', skipped: { count: 0 } },
  ])
  expect(await readFile(paths.envFile, 'utf8')).toBe('KEY=planted\n')
  // In the old format, chunks contain parts of several items, so damage anywhere makes the backup unusable.
  const at = bytes.indexOf('of good')
  bytes[at] = (bytes[at] ?? 0) ^ 1
  await writeFile(file, bytes)
  await expect(restored({ file, folder })).rejects.toMatchObject({ code: 'unprocessable' })
})

test('a file of holes costs a backup next to nothing and is restored in its full size', async () => {
  const size = 64 * 1024 * 1024
  const home = await aHome({ a: () => kept(Buffer.alloc(size)) })
  const made = await home.make()
  expect(made.bytes).toBeLessThan(size / 100)
  const { data } = await restored(home)
  expect(data['a']?.length).toBeGreaterThan(size)
})

test('data beyond the limit of its agent is named and not kept', async () => {
  const home = await aHome({ a: () => kept(Buffer.alloc(5000)), b: () => kept(Buffer.alloc(100, 'b')) })
  const made = await home.make({ limitBytes: 1000 })
  expect(made.skipped).toEqual([
    {
      agent: 'a',
      count: 1,
      first: [{ name: 'note', why: expect.stringContaining('larger than') }],
      ended_by: null,
    },
  ])
  expect((await restored(home)).data['b']?.includes('bbb')).toBe(true)
})

/** Moves a file or folder of the home to another place and leaves a link to it. */
async function linked(paths: DataPaths, folder: string, path: string): Promise<string> {
  const elsewhere = await mkdtemp(join(folder, 'elsewhere-'))
  const target = join(elsewhere, 'moved')
  await rename(join(paths.home, path), target)
  await symlink(target, join(paths.home, path))
  return target
}

test('what lies behind links of the home is in it, also on another file system', async () => {
  const home = await aHome({})
  const { paths, folder } = home
  await mkdir(join(paths.artifactsFolder, '61'), { recursive: true })
  await writeFile(join(paths.artifactsFolder, '61', 'report'), 'The report.')
  await linked(paths, folder, '.env')
  await linked(paths, folder, 'data/artifacts')
  await linked(paths, folder, 'config')
  const shared = await mkdtemp('/dev/shm/flotilla-test-')
  onTestFinished(() => rm(shared, { recursive: true, force: true }))
  await writeFile(join(shared, 'mesh-secret'), 'a secret')
  await symlink(join(shared, 'mesh-secret'), paths.meshSecret)
  const made = await home.make()
  expect(made).toMatchObject({ files: 4, secret_files: ['.env', 'data/mesh-secret'], skipped: [] })
  const again = (await restored(home)).paths
  expect(await readFile(again.envFile, 'utf8')).toBe('KEY=planted\n')
  expect(await readFile(again.meshSecret, 'utf8')).toBe('a secret')
  expect(await readFile(again.settingsFile, 'utf8')).toBe('{}')
  expect(await readFile(join(again.artifactsFolder, '61', 'report'), 'utf8')).toBe('The report.')
})

test('a backup with secrets is an error where one of them is there and cannot be read', async () => {
  const home = await aHome({})
  await rm(await linked(home.paths, home.folder, '.env'))
  await expect(home.make()).rejects.toMatchObject({
    code: 'unprocessable',
    detail: expect.stringMatching(
      /with secrets cannot include .*\.env: a symbolic link whose target does not exist/,
    ),
    repair: expect.stringContaining('--without-secrets'),
  })
  expect(await home.make({ secrets: false })).toMatchObject({ secret_files: [], secrets_left_out: ['.env'] })
})

test('entries of the home that no backup holds are named', async () => {
  const home = await aHome({})
  const { paths } = home
  await symlink('/nonexistent', join(paths.configFolder, 'dangling'))
  await symlink('..', join(paths.configFolder, 'loop'))
  await writeFile(join(paths.configFolder, 'back\\slash'), '')
  await writeFile(Buffer.concat([Buffer.from(`${paths.configFolder}/`), Buffer.from([255])]), '')
  const { skipped, files } = await home.make()
  expect(files).toBe(2)
  expect(skipped).toMatchObject([{ agent: null, count: 4 }])
  expect(skipped[0]?.first.map(({ name }) => name)).toEqual([
    String.raw`config/back\\slash`,
    'config/dangling',
    'config/loop',
    'config/\ufffd',
  ])
  expect(
    (await verifyBackup({ file: home.file, passphrase: null, temporary: home.folder, moved: () => {} }))
      .about,
  ).toMatchObject({ files: 2, secret_files: ['.env'], skipped: { count: 4 } })
})

test('the file is read again before it gets its name, so a disk that corrupts it is detected', async () => {
  const content = randomBytes(1000)
  const home = await aHome({ a: () => kept(content) })
  const spoil = (step: string): void => {
    if (!step.startsWith('Reading the backup')) return
    const [partial = ''] = readdirSync(home.folder).filter((name) => name.endsWith('.partial'))
    const path = join(home.folder, partial)
    const bytes = readFileSync(path)
    const at = bytes.indexOf(content)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(path, bytes)
  }
  await expect(home.make({ progress: spoil })).rejects.toMatchObject({
    code: 'unprocessable',
    detail: expect.stringMatching(/was written but cannot be read back: the data of a/),
  })
  expect(await readdir(home.folder)).toEqual(['home'])
  expect(await readdir(home.paths.runtimeFolder)).toEqual([])
})

test('a backup that was killed has its files removed by the next one, also on another disk', async () => {
  const home = await aHome({})
  const shared = await mkdtemp('/dev/shm/flotilla-test-')
  onTestFinished(() => rm(shared, { recursive: true, force: true }))
  const [partial, other] = [join(shared, '.monday.123.partial'), join(shared, '.tuesday.123.partial')]
  for (const path of [partial, other]) await writeFile(path, 'half')
  const cut = join(home.paths.runtimeFolder, 'backup-abcdef')
  await mkdir(cut, { recursive: true })
  await writeFile(join(cut, 'writes'), partial)
  // A note about any other path removes nothing.
  const odd = join(home.paths.runtimeFolder, 'backup-odd')
  await mkdir(odd)
  await writeFile(join(odd, 'writes'), home.paths.envFile)
  await home.make()
  expect(await readdir(shared)).toEqual(['.tuesday.123.partial'])
  expect((await stat(home.paths.envFile)).isFile()).toBe(true)
  expect(await readdir(home.paths.runtimeFolder)).toEqual([])
})
