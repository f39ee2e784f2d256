import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import type { Engine } from '../engine/connect-engine.ts'
import { createRestoreImage } from './restore-image.ts'

/** An engine that answers every question for an image with this. */
function anEngine(inspect: () => Promise<unknown>): Engine {
  return { architecture: 'x64', docker: { getImage: () => ({ inspect }) } } as unknown as Engine
}

/** Simulates a machine that cannot build an image; `told` counts the reports. */
async function restoring() {
  const cacheDirectory = await mkdtemp(join(tmpdir(), 'flotilla-restore-'))
  onTestFinished(() => rm(cacheDirectory, { recursive: true, force: true }))
  const notified: string[] = []
  const restore = createRestoreImage(
    {
      recipeDirectory: join(cacheDirectory, 'no-recipe'),
      packageDirectory: join(cacheDirectory, 'no-packages'),
      agentEntry: join(cacheDirectory, 'no-agent.ts'),
      cacheDirectory,
      homeId: 'home_1',
      volumesFolder: join(cacheDirectory, 'volumes'),
      noInstall: true,
      uid: 0,
      clock: systemClock,
      log: { ...silentLog, warn: (_fields: unknown, fact: string) => void notified.push(fact) },
    },
    new AbortController().signal,
  )
  return { restore, told: notified }
}

test('an image that the engine holds is left as it is', async () => {
  const { restore, told } = await restoring()
  expect(
    await restore(
      anEngine(() => Promise.resolve({ Id: 'sha256:1' })),
      'sha256:1',
    ),
  ).toBe('sha256:1')
  expect(told).toEqual([])
})

test('an unresponsive engine does not count as proof that an image is gone', async () => {
  const { restore, told } = await restoring()
  expect(
    await restore(
      anEngine(() => Promise.reject(new Error('no answer'))),
      'sha256:1',
    ),
  ).toBe('sha256:1')
  expect(told).toEqual([])
})

test('a missing image that cannot be rebuilt is reported once to all callers, with a repair', async () => {
  const { restore, told } = await restoring()
  const engine = anEngine(() =>
    Promise.reject(Object.assign(new Error('no such image'), { statusCode: 404 })),
  )
  const ends = await Promise.allSettled([restore(engine, 'sha256:1'), restore(engine, 'sha256:1')])
  for (const end of ends) {
    expect(end).toMatchObject({
      status: 'rejected',
      reason: {
        id: 'agent-image-gone',
        message: expect.stringMatching(/could not be built again: .*\nRepair: .*flotilla doctor/s) as string,
      },
    })
  }
  expect(told).toEqual(['the agent image is missing in the engine; building it again'])
})
