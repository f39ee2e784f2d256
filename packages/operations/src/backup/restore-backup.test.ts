import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { expect, onTestFinished, test } from 'vitest'
import { dataPaths, openHomeFolder } from '../../../foundation/src/config/index.ts'
import { tarArchive, tarFile } from '../../../fleet/src/sandbox/tar-archive.ts'
import { openDatabase } from '../../../foundation/src/storage/index.ts'
import { makeBackup } from './make-backup.ts'
import { restoreBackup } from './restore-backup.ts'
import { verifyBackup } from './verify-backup.ts'
import type { ContentSoFar } from './verify-backup.ts'

const settings = JSON.stringify({ data_limit_mb: 64 })
const kept = Buffer.alloc(300_000, 'k')

/** A backup of a home with one agent, and its verification. */
async function aBackup(content = kept) {
  const folder = await mkdtemp(join(tmpdir(), 'restore-backup-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const old = dataPaths(join(folder, 'old'))
  await mkdir(old.dataFolder, { recursive: true })
  await mkdir(old.configFolder)
  const database = openDatabase(old.database)
  database.prepare('CREATE TABLE agents (id TEXT)').run()
  database.prepare('CREATE TABLE schema_steps (version INTEGER)').run()
  database.prepare("INSERT INTO agents VALUES ('keeper')").run()
  database.close()
  await writeFile(old.settingsFile, settings)
  const file = join(folder, 'backup')
  const asked = { file, passphrase: null, moved: () => {} }
  await makeBackup({
    ...asked,
    paths: old,
    secrets: false,
    homeId: 'home_0',
    product: '0',
    runtime: 'process',
    now: 0,
    pid: 1,
    randomBytes: (count) => Buffer.alloc(count),
    agents: {
      without: [],
      dataLimitBytes: () => 2 ** 30,
      measure: async () => null,
      read: async () => ({
        tar: tarArchive([tarFile('kept', content, { uid: 1000, mode: 0o600 })]),
        held: () => true,
        leave: async () => {},
      }),
    },
    progress: () => {},
    signal: new AbortController().signal,
  })
  const paths = dataPaths(join(folder, 'new'))
  return { folder, asked, paths, verified: await verifyBackup({ ...asked, temporary: folder }) }
}

async function restored(
  { asked, paths, verified }: Awaited<ReturnType<typeof aBackup>>,
  agentsElsewhere: boolean,
  without: readonly string[] = [],
) {
  const written: string[] = []
  await restoreBackup({
    ...asked,
    paths,
    verified,
    agentsElsewhere,
    openHome: () => openHomeFolder(paths),
    without,
    openAgents: async () => ({
      prepare: async () => {},
      write: async (agent, tar) => {
        const pieces = await Array.fromAsync(tar)
        written.push(`${agent} ${Buffer.concat(pieces).includes(kept)}`)
      },
      close: async () => {},
    }),
    progress: () => {},
  })
  return written
}

test('the size of a backup is given separately for the home and the agents’ data', async () => {
  const { verified } = await aBackup()
  expect(verified.bytes - verified.homeBytes).toBeGreaterThanOrEqual(kept.length)
  expect(verified.homeBytes).toBeGreaterThan(settings.length)
})

/** More than any disk has. */
const tooMuch = 2 ** 60

test('what agents kept wants no room beside a home when it goes elsewhere', async () => {
  const backup = await aBackup()
  const agents = backup.verified.agents.map((part) => ({ ...part, bytes: tooMuch }))
  const heavy = { ...backup, verified: { ...backup.verified, agents } }
  await expect(restored(heavy, false)).rejects.toMatchObject({
    code: 'disk-full',
    detail: expect.stringMatching(/file system mounted at .* most of it is the data of keeper/),
    repair: expect.stringContaining('--without'),
  })
  expect(await restored(heavy, true)).toEqual(['keeper true'])
  expect(await readFile(backup.paths.settingsFile, 'utf8')).toBe(settings)
})

test('an agent that is left out of a restore wants no room', async () => {
  const backup = await aBackup()
  const agents = backup.verified.agents.map((part) => ({ ...part, bytes: tooMuch }))
  const heavy = { ...backup, verified: { ...backup.verified, agents } }
  expect(await restored(heavy, false, ['keeper'])).toEqual([])
})

test('reading for a restore ends once more was read than its disk holds', async () => {
  const { asked, folder } = await aBackup(Buffer.alloc(130 * 1024 * 1024))
  const seen: number[] = []
  const fits = async ({ agents }: ContentSoFar): Promise<void> => {
    seen.push(...agents.map(({ bytes }) => bytes))
    throw new Problem('disk-full', { detail: 'it does not fit' })
  }
  await expect(verifyBackup({ ...asked, temporary: folder, fits })).rejects.toMatchObject({
    code: 'disk-full',
  })
  expect(seen).toHaveLength(1)
  expect(seen[0]).toBeLessThan(65 * 1024 * 1024)
})

test('the home itself wants its room wherever agents are', async () => {
  const backup = await aBackup()
  const heavy = { ...backup, verified: { ...backup.verified, homeBytes: tooMuch } }
  await expect(restored(heavy, true)).rejects.toMatchObject({ code: 'disk-full' })
})
