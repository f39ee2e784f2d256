import { execFileSync } from 'node:child_process'
import { promises, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../system-clock.ts'
import { createCheckpoints } from '../loop/run-files.ts'
import { freshState } from '../loop/loop-state.ts'
import { isDiskFull, keepReserve, writeState } from './state-file.ts'

const state = (runId: string, padding = 0) =>
  freshState({
    runId,
    inputHash: 'x'.repeat(padding),
    startedAt: systemClock.now(),
    step: 0,
    messages: [],
    rounds: { turn: 0, session: 0, continues: 0 },
  })

/** A separate file system of 4 MB. */
async function aSmallDisk(): Promise<string> {
  const folder = await promises.mkdtemp(join(tmpdir(), 'flotilla-small-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder])
  onTestFinished(async () => {
    execFileSync('umount', [folder])
    await promises.rmdir(folder)
  })
  return folder
}

function fill(folder: string): void {
  for (let bytes = 1024 * 1024, part = 0; bytes >= 4096; part++) {
    try {
      writeFileSync(join(folder, `fill-${part}`), Buffer.alloc(bytes))
    } catch {
      bytes = Math.floor(bytes / 2)
    }
  }
}

describe.skipIf(process.getuid?.() !== 0)('the state of an agent whose disk is full', () => {
  test('the state of an agent whose disk is full is written from the reserve', async () => {
    const disk = await aSmallDisk()
    await keepReserve(disk)
    const pieces = () => readdirSync(join(disk, '.flotilla', 'reserve')).length
    expect(pieces()).toBe(8)
    fill(disk)
    const checkpoints = createCheckpoints(disk)
    await checkpoints.save(state('run_1'))
    expect((await checkpoints.load('run_1'))?.runId).toBe('run_1')
    expect(pieces()).toBe(7)
    await checkpoints.save(state('run_1', 700_000))
    expect((await checkpoints.load('run_1'))?.inputHash).toHaveLength(700_000)
  })

  test('the state of an agent whose disk is full is refused with the reason once the reserve is used up, and leaves no half behind', async () => {
    const disk = await aSmallDisk()
    fill(disk)
    const error: unknown = await createCheckpoints(disk)
      .save(state('run_1', 100_000))
      .catch((thrown: unknown) => thrown)
    expect(isDiskFull(error)).toBe(true)
    expect(await promises.readdir(join(disk, '.flotilla', 'checkpoints')).catch(() => [])).toEqual([])
  })

  test('the state of an agent whose disk is full has its reserve again once there is room, and a full disk is no error', async () => {
    const disk = await aSmallDisk()
    fill(disk)
    await keepReserve(disk)
    const pieces = async () =>
      (await promises.readdir(join(disk, '.flotilla', 'reserve')).catch(() => [])).length
    expect(await pieces()).toBe(0)
    for (const name of await promises.readdir(disk)) {
      if (name.startsWith('fill')) await promises.unlink(join(disk, name))
    }
    await keepReserve(disk)
    await keepReserve(disk)
    expect(await pieces()).toBe(8)
  })
})

test('another error is passed on unchanged', async () => {
  const folder = await promises.mkdtemp(join(tmpdir(), 'flotilla-state-'))
  onTestFinished(() => promises.rm(folder, { recursive: true }))
  await promises.writeFile(join(folder, 'file'), '')
  await expect(writeState(folder, join(folder, 'file', 'below'), '')).rejects.toThrow(/ENOTDIR|EEXIST/)
})
