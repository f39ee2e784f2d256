import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dataPaths, openHomeFolder } from '../config/index.ts'
import { tarArchive, tarFile } from '../sandbox/tar-archive.ts'
import { openDatabase } from '../storage/index.ts'
import { makeBackup } from './make-backup.ts'
import { restoreBackup } from './restore-backup.ts'
import { verifyBackup } from './verify-backup.ts'

const settings = JSON.stringify({ data_limit_mb: 64 })
const kept = Buffer.alloc(300_000, 'k')

/** A backup of a home with one agent, and its verification. */
async function aBackup() {
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
        tar: tarArchive([tarFile('kept', kept, { uid: 1000, mode: 0o600 })]),
        held: () => true,
        leave: async () => {},
      }),
    },
    progress: () => {},
    signal: new AbortController().signal,
  })
  const paths = dataPaths(join(folder, 'new'))
  return { asked, paths, verified: await verifyBackup({ ...asked, temporary: folder }) }
}

async function restored(
  { asked, paths, verified }: Awaited<ReturnType<typeof aBackup>>,
  agentsElsewhere: boolean,
) {
  const written: string[] = []
  await restoreBackup({
    ...asked,
    paths,
    verified,
    agentsElsewhere,
    openHome: () => openHomeFolder(paths),
    without: [],
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
  const heavy = { ...backup, verified: { ...backup.verified, bytes: tooMuch } }
  await expect(restored(heavy, false)).rejects.toMatchObject({ code: 'disk-full' })
  expect(await restored(heavy, true)).toEqual(['keeper true'])
  expect(await readFile(backup.paths.settingsFile, 'utf8')).toBe(settings)
})

test('the home itself wants its room wherever agents are', async () => {
  const backup = await aBackup()
  const heavy = { ...backup, verified: { ...backup.verified, homeBytes: tooMuch } }
  await expect(restored(heavy, true)).rejects.toMatchObject({ code: 'disk-full' })
})
