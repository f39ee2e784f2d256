import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { pieceFiles } from './read-folder.ts'
import { deathsMax, deathsMs, hangingMax, idleMs, silentMaxMs, whyNoThread } from './scan-pool.ts'
import { createScanThread } from './scan-thread.ts'
import type { ScanFolder } from './scan-folder.ts'

/** A thread whose folders hang until the scan is stopped, kill it, or are empty. */
const trouble = `
const { parentPort } = require('node:worker_threads')
parentPort.on('message', ({ path, gate }) => {
  if (path === '/die') process.exit(1)
  while (path === '/hang' && Atomics.load(gate, 0) === 0) Atomics.wait(gate, 1, 0, 20)
  parentPort.postMessage({ kind: 'end', end: { kind: 'whole', leftOut: false } })
})`

function aThread(start?: () => Worker) {
  const clock = createManualClock()
  let started = 0
  const counted = () => {
    started++
    return start?.() ?? new Worker(trouble, { eval: true })
  }
  const thread = createScanThread({ clock, log: silentLog, start: counted })
  onTestFinished(async () => {
    const closed = thread.close()
    await clock.advance(1000)
    await closed
  })
  const scan = (path: string, signal = new AbortController().signal, each = () => true) =>
    thread.scanFolder(path, { pattern: '*', each, signal })
  return { clock, thread, scan, started: () => started }
}

const whole = { kind: 'whole', leftOut: false }
const turns = async (until: () => boolean) => {
  while (!until()) await new Promise((resolve) => setTimeout(resolve, 5))
}

async function aFolder(files: number): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'flotilla-scan-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const inbox = join(home, 'inbox')
  await mkdir(inbox)
  for (let file = 0; file < files; file++) await writeFile(join(inbox, `f${file}`), 'xy')
  return inbox
}

describe('the scan thread', () => {
  test('a thread that the system refuses to start makes a folder unreadable, and later scans start another', async () => {
    let refusals = 2
    const { clock, scan } = aThread(() => {
      if (refusals-- > 0) throw new Error('ERR_WORKER_INIT_FAILED: EAGAIN')
      return new Worker(trouble, { eval: true })
    })
    const refused = { kind: 'unreadable', reason: expect.stringContaining('could not be started') as unknown }
    expect(await Promise.all([scan('/one'), scan('/two'), scan('/three')])).toEqual([refused, refused, whole])
    refusals = deathsMax
    await clock.advance(deathsMs + idleMs)
  })

  test('the scan thread reports every file once, in more pieces than it may be ahead', async () => {
    const inbox = await aFolder(6 * pieceFiles + 1)
    const thread = createScanThread({ clock: createManualClock(), log: silentLog })
    const seen = new Map<string, number>()
    const each: Parameters<ScanFolder>[1]['each'] = (name, { sizeBytes, inode, modifiedMs, changedMs }) => {
      expect([sizeBytes, inode > 0, modifiedMs > 1e12, changedMs > 1e12]).toEqual([2, true, true, true])
      seen.set(name, (seen.get(name) ?? 0) + 1)
      return true
    }
    const signal = new AbortController().signal
    expect(await thread.scanFolder(inbox, { pattern: 'f*', each, signal })).toEqual(whole)
    expect([seen.size, new Set(seen.values())]).toEqual([6 * pieceFiles + 1, new Set([1])])

    let heard = 0
    const few = () => ++heard < 10
    expect(await thread.scanFolder(inbox, { pattern: '*', each: few, signal })).toEqual({
      kind: 'whole',
      leftOut: true,
    })
    expect(heard).toBe(10)
    const stopping = new AbortController()
    const stop = () => {
      stopping.abort(new Error('enough'))
      return true
    }
    const stopped = thread.scanFolder(inbox, { pattern: '*', each: stop, signal: stopping.signal })
    await expect(stopped).rejects.toThrow('enough')
    // The same thread continues with the next folder.
    expect(await thread.scanFolder(`${inbox}/none`, { pattern: '*', each: few, signal })).toEqual({
      kind: 'missing',
    })
    expect(thread.threads()).toBe(1)
  })

  test('a thread with a hanging folder is abandoned, and another scans the others', async () => {
    const { clock, thread, scan } = aThread()
    const stopping = new AbortController()
    const hanging = scan('/hang', stopping.signal)
    const behind = scan('/well')
    await clock.advance(silentMaxMs - 1)
    expect(thread.threads()).toBe(1)
    await clock.advance(1)
    expect(await behind).toEqual(whole)
    expect(thread.threads()).toBe(2)
    stopping.abort(new Error('enough'))
    await expect(hanging).rejects.toThrow('enough')
    await turns(() => thread.threads() === 1)
    expect(await scan('/well')).toEqual(whole)
  })

  test('hanging threads are limited, and further folders are rejected until one responds', async () => {
    const { clock, thread, scan, started } = aThread()
    const stopping = Array.from({ length: hangingMax }, () => new AbortController())
    for (const { signal } of stopping) {
      scan('/hang', signal).catch(() => {})
      await clock.advance(silentMaxMs)
    }
    expect(await scan('/well')).toMatchObject({
      kind: 'unreadable',
      reason: expect.stringContaining('folders do not answer'),
    })
    expect(started()).toBe(hangingMax)
    stopping[0]?.abort(new Error('enough'))
    await turns(() => thread.threads() < hangingMax)
    expect(await scan('/well')).toEqual(whole)
  })

  test('a dead thread is replaced, but not endlessly', async () => {
    const { clock, scan, started } = aThread()
    for (let death = 0; death < deathsMax; death++) {
      expect(await scan('/well')).toEqual(whole)
      expect(await scan('/die')).toMatchObject({ kind: 'unreadable' })
    }
    expect(await scan('/well')).toMatchObject({
      kind: 'unreadable',
      reason: expect.stringContaining('died too often'),
    })
    expect(started()).toBe(deathsMax)
    await clock.advance(deathsMs + 1)
    expect(await scan('/well')).toEqual(whole)
  })

  test('an idle thread ends, and a new one starts with the next folder', async () => {
    const { clock, thread, scan, started } = aThread()
    await scan('/well')
    await clock.advance(idleMs - 1)
    await scan('/well')
    await clock.advance(idleMs - 1)
    expect([thread.threads(), started()]).toEqual([1, 1])
    await clock.advance(1)
    expect(thread.threads()).toBe(0)
    expect(await scan('/well')).toEqual(whole)
    expect(started()).toBe(2)
  })

  test('the threads end with the mesh, and the shutdown does not wait for ever', async () => {
    const { clock, thread, scan } = aThread()
    const open = [scan('/hang'), scan('/well')]
    const closed = thread.close()
    await clock.advance(1000)
    await closed
    expect(await Promise.all(open)).toEqual(
      [1, 2].map(() => ({ kind: 'unreadable', reason: 'the mesh is stopping' })),
    )
    expect(await scan('/well')).toMatchObject({ kind: 'unreadable' })
    expect(thread.threads()).toBe(0)
  })
})

describe('another scan thread', () => {
  const now = 1_000_000
  const died = (agoMs: number) => now - agoMs

  test('another thread starts while fewer hang, and fewer died within a minute, than the limits', () => {
    expect(whyNoThread({ living: hangingMax - 1, deaths: [], now })).toBeNull()
    expect(whyNoThread({ living: hangingMax, deaths: [], now })).toMatch(/folders do not answer/)
    const deaths = Array.from({ length: deathsMax }, () => died(deathsMs))
    expect(whyNoThread({ living: 0, deaths, now })).toMatch(/died too often/)
    expect(whyNoThread({ living: 0, deaths: deaths.slice(1), now })).toBeNull()
    expect(whyNoThread({ living: 0, deaths: [died(deathsMs + 1), ...deaths.slice(1)], now })).toBeNull()
  })
})
