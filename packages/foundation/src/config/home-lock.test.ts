import { once } from 'node:events'
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { createConnection } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { lockHome } from './home-lock.ts'
import { lockNames } from './lock-holder.ts'

const lockSocket = (home: string): string => [...lockNames(home)][0] ?? ''

const own = { pid: process.pid, deed: 'starting' } as const

test('a home is locked by one process at a time, which says what it does, and is free afterwards', async () => {
  const home = `/nowhere/${process.pid}-lock-test`
  const first = await lockHome(home, own)
  const refusal = () => lockHome(home, { pid: 1, deed: 'starting' }).catch((error: unknown) => error)
  expect(await refusal()).toMatchObject({
    code: 'home-in-use',
    detail: `a mesh is already being started on ${home} by process ${process.pid}`,
  })
  first.now('running')
  expect(await refusal()).toMatchObject({
    detail: `a mesh already runs on ${home}: process ${process.pid}`,
  })
  await first.release()
  await (await lockHome(home, own)).release()
})

test('two homes do not meet', async () => {
  const locks = [await lockHome(`/a/${process.pid}`, own), await lockHome(`/b/${process.pid}`, own)]
  expect(locks).toHaveLength(2)
  await Promise.all(locks.map((lock) => lock.release()))
})

test('two names of one home are one lock', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lock-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await symlink(folder, `${folder}/again`)
  const lock = await lockHome(folder, own)
  await expect(lockHome(`${folder}/again`, own)).rejects.toMatchObject({ code: 'home-in-use' })
  await lock.release()
})

test('exactly one of many concurrent starts acquires the home lock', async () => {
  const home = `/nowhere/${process.pid}-many`
  const ends = await Promise.allSettled(Array.from({ length: 20 }, () => lockHome(home, own)))
  const held = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
  expect(held).toHaveLength(1)
  await held[0]?.release()
})

/** A connection to the lock that stays half open, as any user of this machine could create. */
function halfOpen(home: string): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = createConnection({ path: lockSocket(home), allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => resolve(socket))
    socket.once('data', () => resolve(socket))
  })
}

test('an open connection does not prevent the holder from releasing the lock', async () => {
  const home = `/nowhere/${process.pid}-half-open`
  const lock = await lockHome(home, own)
  await halfOpen(home)
  await expect(lock.release()).resolves.toBeUndefined()
  await (await lockHome(home, own)).release()
})

test('one that listens to nothing that is said does not keep the holder from letting go', async () => {
  const home = `/nowhere/${process.pid}-deaf`
  const lock = await lockHome(home, own)
  const deaf = createConnection({ path: lockSocket(home), allowHalfOpen: true })
  onTestFinished(() => void deaf.destroy())
  deaf.on('error', () => {})
  await once(deaf, 'connect')
  await expect(lock.release()).resolves.toBeUndefined()
  await (await lockHome(home, own)).release()
})

test('however many connect and never close, the holder keeps no descriptors for them, and answers the next', async () => {
  const home = `/nowhere/${process.pid}-crowd`
  const lock = await lockHome(home, own)
  const before = (await readdir('/proc/self/fd')).length
  const sockets = await Promise.all(Array.from({ length: 200 }, () => halfOpen(home)))
  const theirs = sockets.filter((socket) => !socket.destroyed).length
  await expect
    .poll(async () => (await readdir('/proc/self/fd')).length - before - theirs, { timeout: 20_000 })
    .toBeLessThanOrEqual(16)
  await expect(lockHome(home, { pid: 1, deed: 'starting' })).rejects.toMatchObject({
    detail: `a mesh is already being started on ${home} by process ${process.pid}`,
  })
  await lock.release()
})
