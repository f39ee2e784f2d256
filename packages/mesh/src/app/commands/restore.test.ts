import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  dataPaths,
  lockHome,
  openHomeFolder,
  readEnvironment,
} from '../../../../foundation/src/config/index.ts'
import { restore } from './restore.ts'

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'restore-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

function restoreInto(folder: string, more: Readonly<Record<string, string>>) {
  const env = { FLOTILLA_HOME: folder, FLOTILLA_RUNTIME: 'kubernetes', ...more }
  return restore({
    environment: readEnvironment(env),
    env,
    print: () => {},
    stopped: new AbortController().signal,
    uid: 1000,
    pid: 8,
    program: ['/nonexistent'],
    file: join(folder, 'backup'),
    repositoryRoot: '/nonexistent',
  }).catch((error: unknown) => error)
}

/** Restores into a home that another process uses. */
async function beside(deed: Parameters<typeof lockHome>[1]['deed'], pod: Readonly<Record<string, string>>) {
  const folder = await aFolder()
  const lock = await lockHome(folder, { pid: process.pid, deed })
  onTestFinished(() => lock.release())
  return restoreInto(folder, pod)
}

const inPod = { FLOTILLA_KUBERNETES_SERVICE: '10.96.0.5' }

test('a restore beside a running mesh is refused, and in its pod with instructions to stop it', async () => {
  const refused = { code: 'home-in-use', detail: expect.stringContaining(`process ${process.pid}`) }
  expect(await beside('running', {})).toMatchObject({
    ...refused,
    repair: expect.not.stringContaining('kubectl'),
  })
  for (const deed of ['running', 'starting'] as const)
    expect(await beside(deed, inPod)).toMatchObject({
      ...refused,
      repair: expect.stringContaining('deploy/kubernetes/restore.yaml'),
    })
})

test.each(['restoring', 'backing-up', 'removing'] as const)(
  'what ends by itself is waited for, also in a pod that waits already: %s',
  async (deed) => {
    expect(await beside(deed, inPod)).toMatchObject({
      code: 'home-in-use',
      repair: `Wait until process ${process.pid} has ended, then try again.`,
    })
  },
)

test('an interrupted restore into a cluster cannot be continued into this machine', async () => {
  const folder = await aFolder()
  const paths = dataPaths(folder)
  await openHomeFolder(paths)
  await writeFile(paths.restoreMark, '')
  await writeFile(paths.clusterFile, JSON.stringify({ context: null, namespace: 'fleet' }))
  expect(await restoreInto(folder, { FLOTILLA_RUNTIME: 'docker' })).toMatchObject({
    code: 'conflict',
    detail: expect.stringContaining('namespace fleet'),
    repair: expect.stringContaining('--runtime'),
  })
  expect(existsSync(paths.clusterFile)).toBe(true)
})
