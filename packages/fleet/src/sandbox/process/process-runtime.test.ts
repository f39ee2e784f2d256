import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { workersIn } from '../../../../../tests/support/workers-in.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createProcessRuntime } from './process-runtime.ts'
import { readRecord, startTicksOf, writeRecord } from './process-record.ts'
import {
  aSpec,
  sandboxRuntimeConformance,
  subjectHands,
  writeSubject,
} from '../sandbox-runtime.conformance.ts'

async function aHome() {
  const directory = await mkdtemp(join(tmpdir(), 'flotilla-process-'))
  const agentEntry = await writeSubject(directory)
  const open = async () => {
    const runtime = createProcessRuntime({
      dataRoot: join(directory, 'agents'),
      nodePath: process.execPath,
      agentEntry,
      path: '/usr/bin:/bin',
      compiledModules: join(directory, 'compiled'),
      clock: systemClock,
    })
    await runtime.prepare({ progress: () => {} })
    return runtime
  }
  return { directory, open, folder: join(directory, 'agents', Buffer.from('scout').toString('hex')) }
}

sandboxRuntimeConformance('process', async () => {
  const { directory, open } = await aHome()
  const runtime = await open()
  return {
    runtime,
    again: open,
    ...subjectHands,
    shareOf: async () => null,
    close: async () => {
      for (const state of await runtime.list()) await runtime.remove(state.agentId, { data: true })
      await runtime.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
})

/** A home with one agent that answers. */
async function aRunningAgent() {
  const home = await aHome()
  const runtime = await home.open()
  const data = join(home.folder, 'data')
  onTestFinished(async () => {
    await runtime.close()
    for (const pid of workersIn(data)) process.kill(pid, 'SIGKILL')
    await rm(home.directory, { recursive: true, force: true })
  })
  const spec = aSpec({ briefingDirectory: home.directory })
  await subjectHands.answers(await runtime.start(spec))
  return { ...home, runtime, spec, data }
}

test('an agent whose shell is killed is stopped before its end is reported', async () => {
  const { runtime, folder, data } = await aRunningAgent()
  const left = new Promise<number[]>((resolve) => runtime.onEnd(() => resolve(workersIn(data))))
  process.kill((await readRecord(folder))?.pid ?? 0, 'SIGKILL')
  expect(await left).toEqual([])
})

test('the next mesh stops an agent whose shell was killed meanwhile or whose record is lost', async () => {
  const { runtime, open, folder, data, spec } = await aRunningAgent()
  await runtime.close()
  const shell = (await readRecord(folder))?.pid ?? 0
  process.kill(shell, 'SIGKILL')
  while ((await startTicksOf(shell)) !== null) await sleep(20)
  const second = await open()
  expect(workersIn(data)).toEqual([])
  await second.start(spec)
  await second.close()
  await writeFile(join(folder, 'sandbox.json'), '{"agentId":"sc')
  const third = await open()
  expect(workersIn(data)).toEqual([])
  expect(await third.list()).toEqual([])
  await third.close()
})

test('a process that reuses the pid of an ended agent is not touched', async () => {
  const { runtime, folder, spec } = await aRunningAgent()
  await runtime.stop('scout', { graceMs: 0 })
  const stranger = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
  onTestFinished(() => void stranger.kill('SIGKILL'))
  const pid = stranger.pid ?? 0
  const record = await readRecord(folder)
  if (record === null) throw new Error('a stopped agent keeps its record')
  const startTicks = (await startTicksOf(pid)) ?? ''
  for (const other of [
    { ...record, pid, startTicks: record.startTicks },
    { ...record, pid, startTicks, bootId: 'another boot' },
  ]) {
    await writeRecord(folder, other)
    expect(await runtime.inspect('scout')).toMatchObject({ running: false })
    await runtime.stop('scout', { graceMs: 0 })
    await runtime.start(spec)
    await runtime.stop('scout', { graceMs: 0 })
    expect(await startTicksOf(pid)).toBe(startTicks)
  }
})

test('an agent that ends slowly when it is asked to is waited for, and its exit code is kept', async () => {
  const { runtime, data, folder, spec } = await aRunningAgent()
  await runtime.stop('scout', { graceMs: 5_000 })
  expect(workersIn(data)).toEqual([])
  const state = await runtime.start(spec)
  await subjectHands.answers(state)
  await subjectHands.endWith(state, 7)
  while ((await readFile(join(folder, 'exit'), 'utf8').catch(() => '')) === '') await sleep(20)
  expect(await runtime.inspect('scout')).toMatchObject({ running: false, exit: { code: 7 } })
})
