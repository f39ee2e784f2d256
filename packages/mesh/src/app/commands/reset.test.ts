import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { dataPaths } from '../../../../foundation/src/config/data-paths.ts'
import { readEnvironment } from '../../../../foundation/src/config/environment.ts'
import { openHomeFolder } from '../../../../foundation/src/config/home-folder.ts'
import { startTicksOf, writeRecord } from '../../../../fleet/src/sandbox/process/process-record.ts'
import { reset } from './reset.ts'

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-reset-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Uses an engine that does not answer, unless plain processes are requested. */
function resetOf(home: string, runtime?: 'process' | 'docker') {
  const env = {
    FLOTILLA_HOME: home,
    FLOTILLA_LOG_LEVEL: 'silent',
    FLOTILLA_ENGINE_SOCKET: join(home, 'no-engine.sock'),
    DOCKER_HOST: `unix://${join(home, 'no-engine.sock')}`,
    ...(runtime ? { FLOTILLA_RUNTIME: runtime } : {}),
  }
  return reset({
    environment: readEnvironment(env),
    env,
    print: () => {},
    stopped: new AbortController().signal,
    uid: 1000,
    pid: process.pid,
    program: ['/nonexistent'],
    repositoryRoot: '/nonexistent',
  })
}

test('a home is deleted completely', async () => {
  const home = join(await aFolder(), 'home')
  await openHomeFolder(dataPaths(home))
  await writeFile(join(home, '.env'), '')
  expect(await resetOf(home, 'process')).toBe(0)
  expect(existsSync(home)).toBe(false)
  expect(await resetOf(home, 'process')).toBe(0)
  expect(existsSync(home)).toBe(false)
})

test('a folder that was never a home is refused and keeps everything', async () => {
  const folder = await aFolder()
  await mkdir(join(folder, 'data'))
  await writeFile(join(folder, 'thesis.txt'), 'years of work')
  await expect(resetOf(folder, 'process')).rejects.toMatchObject({ code: 'conflict' })
  expect(existsSync(join(folder, 'thesis.txt'))).toBe(true)
  expect(existsSync(join(folder, 'data'))).toBe(true)
})

test('other files in the folder of a home stay', async () => {
  const home = await aFolder()
  await openHomeFolder(dataPaths(home))
  await writeFile(join(home, 'notes.txt'), 'mine')
  await resetOf(home, 'process')
  expect([existsSync(join(home, 'notes.txt')), existsSync(join(home, 'data'))]).toEqual([true, false])
})

test('plain processes that a killed mesh left are terminated, also if containers are the runtime now', async () => {
  const home = await aFolder()
  const paths = dataPaths(home)
  await openHomeFolder(paths)
  const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
  const ended = new Promise<string | null>((resolve) =>
    child.once('exit', (_code, signal) => resolve(signal)),
  )
  const pid = child.pid ?? 0
  const folder = join(paths.agentsFolder, '61')
  await mkdir(folder)
  const startTicks = (await startTicksOf(pid)) ?? ''
  await writeRecord(folder, {
    agentId: 'a',
    pid,
    startTicks,
    bootId: null,
    port: 1,
    labels: {},
    stoppedWith: null,
  })
  await resetOf(home)
  expect(await ended).toBe('SIGKILL')
})

test('folders of a home that others could read become private', async () => {
  const home = await aFolder()
  const paths = dataPaths(home)
  await mkdir(paths.dataFolder, { mode: 0o755 })
  await chmod(paths.dataFolder, 0o755)
  await openHomeFolder(paths)
  expect((await stat(paths.dataFolder)).mode & 0o777).toBe(0o700)
})

test.each(['docker', 'process'] as const)(
  'a home with agents in a cluster is not removed as a home of %s, because the agents would be orphaned',
  async (runtime) => {
    const home = await aFolder()
    const paths = dataPaths(home)
    await openHomeFolder(paths)
    await writeFile(paths.clusterFile, JSON.stringify({ context: null, namespace: 'fleet' }))
    await expect(resetOf(home, runtime)).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining('namespace fleet'),
      repair: expect.stringContaining('FLOTILLA_RUNTIME'),
    })
    expect(existsSync(paths.clusterFile)).toBe(true)
  },
)
