import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { expect, onTestFinished, test } from 'vitest'
import { meshOnDisk } from '../support/mesh-on-disk.ts'
import { eventually } from '../support/eventually.ts'
import { canInject, injectFault } from '../support/injected-fault.ts'
import type { FaultOfCalls } from '../support/injected-fault.ts'
import { openLedger } from '../support/ledger-view.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { canMount } from '../support/small-disk.ts'
import type { SmallDisk } from '../support/small-disk.ts'

interface Place {
  readonly mesh: MeshProcess
  readonly disk: SmallDisk
}

interface Fault {
  readonly name: string
  /** False for a fault that only slows the storage: the mesh accepts work meanwhile. */
  readonly refuses: boolean
  /** True for a fault by which the mesh cannot accept connections. */
  readonly mayBeUnanswered?: true
  /** Begins the fault; returns how it ends. */
  begin(place: Place): Promise<() => Promise<void>>
}

const ofDisk = (name: string, fill: (disk: SmallDisk) => unknown): Fault => ({
  name,
  refuses: true,
  begin: async ({ disk }) => {
    await fill(disk)
    return disk.drain
  },
})

const ofCalls = (name: string, fault: FaultOfCalls, refuses = true): Fault => ({
  name,
  refuses,
  begin: async ({ mesh }) => {
    const injected = await injectFault(mesh.pid, fault)
    onTestFinished(injected.end)
    return async () => {
      // A fault that met no system call would prove nothing.
      await eventually('the mesh met the fault', () => injected.hits() > 0)
      await injected.end()
    }
  },
})

/**
 * A remount of a busy file system as read-only is refused, tmpfs has no quotas in many kernels, and an ext4 that met an
 * error cannot be made writable again while it is mounted. So those faults are what they are for a program: the error
 * of each system call that changes files.
 */
const faults: readonly Fault[] = [
  ofDisk('a full disk', (disk) => disk.fill()),
  ofDisk('a disk without inodes', (disk) => disk.fillInodes()),
  ofCalls('a read-only file system', { effect: 'error=EROFS' }),
  ofCalls('a quota that is used up', { effect: 'error=EDQUOT' }),
  ofCalls('a disk that fails to write', { effect: 'error=EIO' }),
  ofCalls('a disk that fails to sync', { effect: 'error=EIO', calls: 'fsync,fdatasync' }),
  ofCalls('a disk that fails to read', { effect: 'error=EIO', calls: 'pread64' }),
  ofCalls(
    'a disk that needs 0.3 s for each sync',
    { effect: 'delay_enter=300000', calls: 'fsync,fdatasync' },
    false,
  ),
  {
    name: 'a limit of open files that is reached',
    refuses: true,
    mayBeUnanswered: true,
    begin: async ({ mesh: { pid } }) => {
      const open = readdirSync(`/proc/${pid}/fd`).length
      const limit = (soft: number) => {
        execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${soft}:${open + 4096}`])
      }
      limit(open)
      return async () => limit(open + 4096)
    },
  },
]

/** Five seconds of questions: the pause between two of them, in milliseconds, and their number. */
const pauseMs = 50
const questionsMax = 100

/**
 * Asks until the mesh is ready, and returns how long that took. The bound of five seconds is counted in answered
 * questions with a pause after each, so that a busy machine, on which each answer takes longer, has more time.
 */
async function healed(mesh: MeshProcess): Promise<number> {
  const startedAt = performance.now()
  for (let questions = 0; questions < questionsMax; questions += 1) {
    if (await isReady(mesh)) return performance.now() - startedAt
    await sleep(pauseMs)
  }
  throw new Error(`not ready after ${questionsMax} questions: ${mesh.log().slice(-2000)}`)
}

/** How long a call waits that may not be answered, in milliseconds. */
const unansweredMs = 1000

const isReady = async (mesh: MeshProcess): Promise<boolean> =>
  mesh.call(meshHumanEndpoints.readyz, { reuses: false, timeoutMs: unansweredMs }).then(
    ({ status }) => status === 200,
    () => false,
  )

test.skipIf(!canMount || !canInject).each(faults)(
  'a mesh that meets $name refuses or serves, does not end, and is healed within five seconds of its end',
  async ({ name, refuses, mayBeUnanswered, begin }) => {
    const place = await meshOnDisk({ sizeMb: 256, inodes: 2000 })
    const { mesh } = place
    const { pid } = mesh
    await mesh.ask('hello')
    const end = await begin(place)
    const answers: string[] = []
    for (let count = 0; count < 6; count += 1) {
      const asked = await mesh
        .call(meshHumanEndpoints.chat, {
          params: { id: 'operator' },
          body: { message: 'hello', session: `during-${count}` },
          ...(mayBeUnanswered === true ? { timeoutMs: unansweredMs } : {}),
        })
        .catch((error: unknown) => {
          if (mayBeUnanswered === true) return null
          throw error
        })
      answers.push(
        asked === null
          ? 'unanswered'
          : asked.status < 300
            ? 'served'
            : `${asked.status} ${String(asked.json()['code'])}`,
      )
    }
    const refused = answers.filter((answer) => answer !== 'served')
    expect(
      refused.filter(
        (answer) => !/^(?:unanswered|507 disk-full|503 (?:storage-failing|too-many-files))$/.test(answer),
      ),
    ).toEqual([])
    if (!refuses) expect(refused).toEqual([])
    await end()
    const healedMs = await healed(mesh)
    expect((await mesh.ask('hello', { session: 'after' })).outcome?.text).toBe('Yes.')
    expect(mesh.pid).toBe(pid)
    await eventually('each accepted run has ended', async () =>
      (await mesh.runs()).every(({ state }) => state === 'done' || state === 'failed'),
    )
    const ledger = openLedger(mesh.home)
    onTestFinished(() => ledger.close())
    expect(new Set(ledger.endings().values())).toEqual(new Set([1]))
    process.stdout.write(
      `${name}: ${answers.length - refused.length} of ${answers.length} calls served, healed in ${Math.round(healedMs)} ms\n`,
    )
  },
)
