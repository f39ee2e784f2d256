import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { lockHome, readEnvironment } from '../../config/index.ts'
import { restore } from './restore.ts'

/** Into a home that a mesh works on. */
async function beside(pod: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'restore-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const lock = await lockHome(folder, { pid: 7, deed: 'running' })
  onTestFinished(() => lock.release())
  const env = { FLOTILLA_HOME: folder, FLOTILLA_RUNTIME: 'kubernetes', ...pod }
  return restore({
    environment: readEnvironment(env),
    env,
    tell: () => {},
    stopped: new AbortController().signal,
    uid: 1000,
    pid: 8,
    program: ['/nonexistent'],
    file: join(folder, 'backup'),
    repositoryRoot: '/nonexistent',
  }).catch((error: unknown) => error)
}

test('a restore beside a mesh is refused, and in its pod it is said how to end that', async () => {
  const refused = { code: 'home-in-use', detail: expect.stringContaining('process 7') }
  expect(await beside({})).toMatchObject({ ...refused, repair: expect.not.stringContaining('kubectl') })
  expect(await beside({ FLOTILLA_KUBERNETES_SERVICE: '10.96.0.5' })).toMatchObject({
    ...refused,
    repair: expect.stringContaining('deploy/kubernetes/restore.yaml'),
  })
})
