import { once } from 'node:events'
import { createServer } from 'node:net'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { connectEngine } from './connect-engine.ts'
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

  it('an engine that accepts a connection and does not answer is called silent, not absent', async () => {
    const socketPath = join(await mkdtemp(join(tmpdir(), 'flotilla-silent-')), 'engine.sock')
    const server = createServer((socket) => socket.on('error', () => {})).listen(socketPath)
    await once(server, 'listening')
    try {
      await expect(connectEngine(socketPath, 50)).rejects.toMatchObject({
        name: 'SandboxError',
        id: 'engine-silent',
        message: expect.stringContaining(socketPath),
      })
    } finally {
      server.close()
    }
    await expect(connectEngine(socketPath, 50)).rejects.not.toMatchObject({ name: 'SandboxError' })
  })
})
