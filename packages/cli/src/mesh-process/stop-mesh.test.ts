import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { stopMeshProcess } from './stop-mesh.ts'

test('a mesh that does not end in time is named itself, not the supervisor that only waits for it', async () => {
  const deaf = 'process.on("SIGTERM", () => {}); console.log("deaf"); setInterval(() => {}, 1000)'
  const supervisor = spawn(process.execPath, ['-e', deaf], { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void supervisor.kill('SIGKILL'))
  await once(supervisor.stdout, 'data')
  const meshPid = 4_000_000
  let now = 0
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      now += ms * 100
    },
  }
  const pid = supervisor.pid ?? 0
  const stopped = stopMeshProcess(
    { pid, meshPid, isAlive: async () => true },
    clock,
    new AbortController().signal,
  )
  await expect(stopped).rejects.toMatchObject({
    code: 'stop-timed-out',
    message: expect.stringContaining(`process ${meshPid}`),
    repair: expect.stringContaining(`kill -9 ${meshPid},`),
  })
})
