import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serviceRestartMs } from '../reference/systemd-unit.ts'
import { paceRestarts } from './pace-restarts.ts'

/** A service whose mesh ends with an exit code after some time, and which systemd starts again. */
function aService() {
  const folder = mkdtempSync(join(tmpdir(), 'pace-restarts-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  let now = 1000
  const start = async (exitCode: number, livedMs: number) => {
    now += livedMs
    let waitedMs = 0
    const clock = { sleep: async (ms: number) => void ((waitedMs += ms), (now += ms)) }
    await paceRestarts({ folder, lastExit: async () => exitCode, uptimeMs: () => now, clock })
    return waitedMs + serviceRestartMs
  }
  return { folder, start }
}

test('a service in a crash loop waits twice as long each time, up to half a minute, and the first start not at all', async () => {
  const { start } = aService()
  expect(await start(0, 0)).toBe(serviceRestartMs)
  const delays: number[] = []
  for (let count = 0; count < 9; count++) delays.push(await start(1, 500))
  expect(delays).toEqual([2000, 2000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
})

test('a mesh that worked for a minute begins the delays of its service anew', async () => {
  const { start } = aService()
  for (let count = 0; count < 9; count++) await start(9, 500)
  expect(await start(9, 500)).toBe(30_000)
  expect(await start(9, 90_000)).toBe(2000)
  expect(await start(9, 500)).toBe(2000)
})

test('a service whose start failed for its storage is tried again within two seconds each time', async () => {
  const { start } = aService()
  for (let count = 0; count < 9; count++) expect(await start(74, 500)).toBe(2000)
})

test('a damaged note, or no folder, delays nothing', async () => {
  const { folder, start } = aService()
  writeFileSync(join(folder, 'restarts'), 'many')
  expect(await start(1, 500)).toBe(serviceRestartMs)
  const never = async () => {
    throw new Error('it asked')
  }
  await paceRestarts({ folder: null, lastExit: never, uptimeMs: () => 0, clock: { sleep: never } })
})
