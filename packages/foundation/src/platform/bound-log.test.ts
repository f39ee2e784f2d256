import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { canMount, smallDiskForTest } from '../../../../tests/support/small-disk.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { boundLog, logCheckMs, logRetryMs, rotateLog } from './bound-log.ts'
import { silentLog } from './log.ts'

const maxBytes = 300_000

function aLog(folder = mkdtempSync(join(tmpdir(), 'flotilla-log-'))) {
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'mesh.log')
  const descriptor = openSync(path, 'a', 0o600)
  onTestFinished(() => closeSync(descriptor))
  let count = 0
  const write = (lines: number) => {
    for (let line = 0; line < lines; line++) writeSync(descriptor, `line ${count++}\n`)
  }
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const all = () => Array.from({ length: count }, (_, line) => `line ${line}\n`).join('')
  return { folder, path, write, read, all, bounded: { path, descriptor, maxBytes } }
}

test('a log above its bound is moved without losing a line that comes meanwhile, and two files are kept', async () => {
  const { folder, write, read, all, bounded } = aLog()
  write(1000)
  expect(await rotateLog(bounded)).toBe(false)
  write(60_000)
  const moving = { done: false }
  const moved = rotateLog(bounded).finally(() => (moving.done = true))
  while (!moving.done) {
    write(1)
    await setImmediate()
  }
  expect(await moved).toBe(true)
  write(10)
  expect(read('mesh.log').length).toBeLessThan(maxBytes)
  expect(read('mesh.log.1') + read('mesh.log')).toBe(all())
  write(60_000)
  const before = read('mesh.log')
  expect(await rotateLog(bounded)).toBe(true)
  expect([read('mesh.log.1'), read('mesh.log')]).toEqual([before, ''])
  expect(readdirSync(folder).toSorted()).toEqual(['mesh.log', 'mesh.log.1'])
})

test('a log is left alone if the output goes to another file', async () => {
  const [{ bounded, write }, other] = [aLog(), aLog()]
  write(60_000)
  expect(await rotateLog({ ...bounded, path: other.path })).toBe(false)
  expect(await rotateLog({ ...bounded, path: join(other.folder, 'missing') })).toBe(false)
})

test('a log that cannot be moved stays complete, and is moved once that is possible', async () => {
  const { folder, write, read, all, bounded } = aLog()
  const [clock, stop, warned] = [createManualClock(), new AbortController(), [] as string[]]
  const log = { ...silentLog, warn: (_fields: object, fact: string) => void warned.push(fact) }
  const ended = boundLog(bounded, { clock, log, signal: stop.signal })
  write(60_000)
  mkdirSync(join(folder, 'mesh.log.1'))
  await clock.advance(logCheckMs)
  await expect.poll(() => warned).toHaveLength(1)
  expect(readdirSync(folder).toSorted()).toEqual(['mesh.log', 'mesh.log.1'])
  expect(read('mesh.log')).toBe(all())
  rmSync(join(folder, 'mesh.log.1'), { recursive: true })
  await clock.advance(logRetryMs)
  await expect.poll(() => read('mesh.log')).toBe('')
  expect(read('mesh.log.1')).toBe(all())
  stop.abort()
  await ended
})

test.skipIf(!canMount)('a full disk neither moves nor cuts off a log', async () => {
  const disk = await smallDiskForTest({ sizeMb: 3 })
  const { folder, write, read, all, bounded } = aLog(mkdtempSync(join(disk.folder, 'home-')))
  write(50_000)
  disk.fill()
  await expect(rotateLog(bounded)).rejects.toMatchObject({ code: 'ENOSPC' })
  expect(readdirSync(folder)).not.toContain('mesh.log.1.tmp')
  expect(read('mesh.log')).toBe(all())
  await disk.drain()
  expect(await rotateLog(bounded)).toBe(true)
  expect(read('mesh.log.1')).toBe(all())
})
