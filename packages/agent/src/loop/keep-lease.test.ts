import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import type { RunMesh, RunMeshCall } from '../mesh/run-mesh.ts'
import { noMesh } from '../testing/loop-parts.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { keepLease } from './keep-lease.ts'

/** Renews a lease against a mesh with the given answers; stops after the last. */
async function renew(answers: readonly (Error | null)[], tryState = async () => {}) {
  const controller = new AbortController()
  const waitsMs: number[] = []
  const calls: RunMeshCall[] = []
  const clock = {
    now: () => 0,
    sleep: async (ms: number, signal?: AbortSignal) => {
      if (calls.length === answers.length) controller.abort(new Error('the run has ended'))
      signal?.throwIfAborted()
      waitsMs.push(ms)
    },
  }
  const mesh: RunMesh = {
    ...noMesh,
    call: async (call) => {
      const answer = answers[calls.length]
      calls.push(call)
      if (answer) throw answer
      return { lease_until: 1 }
    },
  }
  await keepLease({ runId: 'run_1', mesh, tryState, clock, log: quietLog }, controller.signal)
  return { waitsMs, calls }
}

test('the lease is renewed every fifteen seconds while the run goes on', async () => {
  const { waitsMs, calls } = await renew([null, null, null])
  expect(waitsMs).toEqual([15_000, 15_000, 15_000])
  expect(calls[0]).toMatchObject({
    endpoint: { path: expect.stringContaining('lease') as string },
    waitForMesh: false,
  })
})

test('a mesh that is away does not end the renewing', async () => {
  const { calls } = await renew([new Error('ECONNREFUSED'), new Problem('upstream-failed'), null])
  expect(calls).toHaveLength(3)
})

test('nothing is renewed while nothing can be written', async () => {
  let tries = 0
  const { waitsMs, calls } = await renew([null], async () => {
    tries += 1
    if (tries < 4) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
  })
  expect(calls).toHaveLength(1)
  expect(waitsMs).toHaveLength(4)
})

test('a stale fence ends it', async () => {
  const { calls } = await renew([null, new Problem('stale-fence'), null])
  expect(calls).toHaveLength(2)
})
