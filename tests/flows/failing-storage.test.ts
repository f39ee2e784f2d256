import process from 'node:process'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { describe, expect, it, onTestFinished } from 'vitest'
import { askSupervisor } from '../../packages/cli/src/mesh-process/supervisor-socket.ts'
import { backgroundFleet, logOf } from '../support/background-fleet.ts'
import type { BackgroundFleet } from '../support/background-fleet.ts'
import { eventually } from '../support/eventually.ts'
import { patient } from '../support/patience.ts'
import { canMountExt4, mountExt4At } from '../support/small-disk.ts'
import type { Ext4Disk } from '../support/small-disk.ts'
import { canInjectFaults, storageFaults } from '../support/storage-faults.ts'
import type { StorageFaults } from '../support/storage-faults.ts'

/** A mesh works again this soon after its storage does: 5 s, and as much more as this machine is slower. */
const healedWithinMs = patient(1000)

/** A fleet in the background whose writes the test lets fail. */
async function failingFleet(): Promise<{ fleet: BackgroundFleet; faults: StorageFaults }> {
  let faults: StorageFaults | null = null
  const environment: Record<string, string> = {}
  const fleet = await backgroundFleet({
    environment,
    mount: (home) => {
      faults = storageFaults(home)
      Object.assign(environment, faults.environment)
      return { heal: faults.heal, unmount: () => {} }
    },
  })
  if (faults === null) throw new Error('no faults')
  return { fleet, faults }
}

const chat = (fleet: BackgroundFleet, session: string) =>
  fleet.call(meshHumanEndpoints.chat, {
    params: { id: 'operator' },
    body: { message: 'hello', session },
    timeoutMs: patient(60_000),
  })

/** Asks until the fleet answers a message and its log takes lines; returns how long that took. */
async function timeToHeal(fleet: BackgroundFleet): Promise<number> {
  const begunMs = performance.now()
  const logged = logOf(fleet).length
  await eventually('a message is answered', async () =>
    chat(fleet, 'healed').then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  // The start of an agent is logged.
  await fleet.createWorker('clerk')
  expect((await fleet.ask('hello', { agent: 'clerk' })).outcome?.text).toBe('Yes.')
  await eventually('the log takes lines', () => logOf(fleet).length > logged)
  return performance.now() - begunMs
}

describe.skipIf(!canInjectFaults)('a mesh in the background whose storage fails', () => {
  it.each([
    ['EIO at each write', { write: 'EIO' }, 'the disk reports an error'],
    ['EIO at each fsync', { sync: 'EIO' }, 'the disk reports an error'],
    ['a read-only file system', { write: 'EROFS' }, ''],
    ['a stale network file system', { write: 'ESTALE', sync: 'ESTALE' }, ''],
    ['a used-up quota', { write: 'EDQUOT' }, ''],
  ] as const)(
    'refuses work with the reason under %s, lives, and works again right after it',
    async (_name, fault, reason) => {
      const { fleet, faults } = await failingFleet()
      const pid = await fleet.meshPid()
      expect((await fleet.ask('hello')).outcome?.text).toBe('Yes.')
      faults.set(fault)
      for (let count = 0; count < 3; count++) {
        const refused = await chat(fleet, `refused-${count}`)
        expect(refused.text).not.toContain(fleet.home)
        // SQLite does not say which error of the system it met.
        expect([refused.status, refused.json()['code']]).toEqual([503, 'storage-failing'])
        expect(refused.json()['detail']).toContain(reason)
      }
      expect(await fleet.isReady()).toBe(false)
      const answer = (await fleet.call(meshHumanEndpoints.readyz)).text
      expect(answer).not.toContain(fleet.home)
      expect((await fleet.flotilla('status')).out).toContain('storage-failing')
      expect(await fleet.meshPid()).toBe(pid)
      faults.heal()
      expect(await timeToHeal(fleet)).toBeLessThan(healedWithinMs)
      expect(await fleet.meshPid()).toBe(pid)
    },
  )

  it('serves, slowly, while each fsync takes 3 s, and says why', async () => {
    const { fleet, faults } = await failingFleet()
    const pid = await fleet.meshPid()
    expect((await fleet.ask('hello')).outcome?.text).toBe('Yes.')
    faults.set({ syncDelayMs: 3000 })
    expect((await fleet.ask('hello', { session: 'slow' })).outcome?.text).toBe('Yes.')
    const ready = await fleet.call(meshHumanEndpoints.readyz, { timeoutMs: patient(30_000) })
    expect(ready.json()).toMatchObject({ ready: true, problems: [{ id: 'storage-slow' }] })
    expect(logOf(fleet)).toContain('a write to the database was slow')
    faults.heal()
    expect((await fleet.ask('hello', { session: 'after' })).outcome?.text).toBe('Yes.')
    expect(await fleet.meshPid()).toBe(pid)
  })

  it('is started again until the start succeeds when it is killed meanwhile', async () => {
    const { fleet, faults } = await failingFleet()
    faults.set({ write: 'EIO', sync: 'EIO' })
    process.kill(await fleet.meshPid(), 'SIGKILL')
    await eventually('a start has failed', async () =>
      (await askSupervisor(fleet.home))?.last_exit?.includes('storage-failing'),
    )
    faults.heal()
    expect(await timeToHeal(fleet)).toBeLessThan(healedWithinMs)
  })
})

/** A fleet in the background whose home lies on an ext4 file system of its own. */
async function fleetOnExt4(size: { readonly sizeMb: number; readonly inodes?: number }) {
  const disks: Ext4Disk[] = []
  const fleet = await backgroundFleet({
    mount: (home) => {
      const disk = mountExt4At(home, size)
      disks.push(disk)
      onTestFinished(disk.remove)
      return { heal: disk.drain, unmount: disk.unmount }
    },
  })
  const [disk] = disks
  if (disk === undefined) throw new Error('no disk')
  return { fleet, disk }
}

describe.skipIf(!canMountExt4)('a mesh in the background on a real file system', () => {
  it.each([
    ['blocks', (disk: Ext4Disk) => disk.fill()],
    ['inodes', (disk: Ext4Disk) => disk.fillInodes()],
  ] as const)(
    'refuses work while it has no %s left, lives, and works again right after',
    async (_what, take) => {
      const { fleet, disk } = await fleetOnExt4({ sizeMb: 160, inodes: 4000 })
      const pid = await fleet.meshPid()
      await take(disk)
      const refused = await chat(fleet, 'refused')
      expect([refused.status, refused.json()['code']]).toEqual([507, 'disk-full'])
      expect(await fleet.isReady()).toBe(false)
      await disk.drain()
      expect(await timeToHeal(fleet)).toBeLessThan(healedWithinMs)
      expect(await fleet.meshPid()).toBe(pid)
    },
  )

  it('lives when the kernel makes it read-only, and lets go of it at flotilla stop, so that it can be repaired', async () => {
    const { fleet, disk } = await fleetOnExt4({ sizeMb: 160 })
    const pid = await fleet.meshPid()
    await fleet.ask('hello')
    disk.breakDown()
    await eventually(
      'work is refused',
      async () => (await chat(fleet, 'refused')).json()['code'] === 'storage-failing',
    )
    expect(await fleet.meshPid()).toBe(pid)
    expect((await fleet.flotilla('status')).out).toContain('storage-failing')
    const stopped = await fleet.flotilla('stop', '--json')
    expect(JSON.parse(stopped.out), stopped.err).toMatchObject({ stopped: true })
    disk.detach()
    disk.repair()
    const started = await fleet.start()
    expect(started.code, started.err).toBe(0)
    expect((await fleet.ask('hello', { session: 'after' })).outcome?.text).toBe('Yes.')
  })
})
