import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { ensureEngine, inspectEngine } from './ensure-engine.ts'

const absent = {
  uid: 0,
  noInstall: true,
  stateDirectory: tmpdir(),
  clock: systemClock,
  progress: (step: string) => expect.fail(`nothing may be done: ${step}`),
}

describe('ensureEngine', () => {
  it('an engine that was named but does not answer is not replaced by another', async () => {
    const asked = ensureEngine({ ...absent, noInstall: false, engineSocket: '/nowhere.sock' })
    await expect(asked).rejects.toMatchObject({
      name: 'SandboxError',
      id: 'engine-absent',
      message: expect.stringContaining('/nowhere.sock'),
    })
  })

  it('doctor gets the commands to type', async () => {
    const [finding] = await inspectEngine({ uid: 0, engineSocket: '/nowhere.sock' })
    expect(finding).toMatchObject({
      id: 'engine-answers',
      ok: false,
      repair: expect.stringContaining('apt-get install'),
    })
  })
})
