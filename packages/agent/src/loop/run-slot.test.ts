import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChatFrame, TaskResult } from '@flotilla/protocol/agent-api'
import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { systemClock } from '../system-clock.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { createCheckpoints } from './run-files.ts'
import { createOutcomes } from './run-files.ts'
import { createRunSlot } from './run-slot.ts'
import type { ActiveRun } from './active-run.ts'
import type { ExecuteRun, Admission } from './run-slot.ts'
import type { RunRequest } from './run-request.ts'
import { abortedEnd, taskResult } from './task-result.ts'

const facts = { taskId: null, toolOutputs: [], tokens: 1, costUsd: 0, durationMs: 5 }
const chat = (runId: string, fence: number, message = 'hi'): Extract<RunRequest, { kind: 'chat' }> => ({
  kind: 'chat',
  runId,
  fence,
  message,
  session: 's',
  steers: [],
})

/** The run of an admission; a finished one has none. */
function runOf(taking: Admission): ActiveRun {
  if (taking.state === 'finished') throw new Error('the run had finished')
  return taking.run
}

/** A slot whose runs end when the test says so. */
function aSlot(data = mkdtempSync(join(tmpdir(), 'slot-')), save?: () => Promise<void>) {
  const started: Parameters<ExecuteRun>[0][] = []
  const endings: ((response: string) => void)[] = []
  const execute: ExecuteRun = (job) =>
    new Promise((resolve) => {
      const end = (result: TaskResult): void => resolve({ result, lastStep: 7 })
      started.push(job)
      endings.push((response) => end(taskResult(job.request, { status: 'complete', response }, facts)))
      job.signal.addEventListener('abort', () => end(taskResult(job.request, abortedEnd(job.signal), facts)))
    })
  const kept = createOutcomes(data)
  const outcomes = save ? { ...kept, save } : kept
  const checkpoints = createCheckpoints(data)
  const failures: unknown[] = []
  const cannotWrite = (error: unknown): void => void failures.push(error)
  const slot = createRunSlot({
    execute,
    outcomes,
    checkpoints,
    cannotWrite,
    clock: systemClock,
    log: quietLog,
  })
  return { slot, started, endings, data, outcomes, failures }
}

test('the same run with the same fence attaches and receives the remaining frames', async () => {
  const { slot, started, endings } = aSlot()
  const first = await slot.take(chat('run_1', 5))
  const second = await slot.take(chat('run_1', 5))
  expect([first.state, second.state]).toEqual(['executing', 'attached'])
  const heard: ChatFrame[] = []
  runOf(second).follow((frame) => heard.push(frame))
  started[0]?.hooks.onFrame({ type: 'text_delta', content: 'x' })
  endings[0]?.('all')
  expect(await runOf(first).ended).toMatchObject({ response: 'all' })
  expect(heard.map((frame) => frame.type)).toEqual(['text_delta', 'done'])
  expect(started).toHaveLength(1)
})

test('an outcome is not reported when nothing can be written, and the process must end', async () => {
  const overrun = Object.assign(new Error('too many open files'), { code: 'EMFILE' })
  const { slot, endings, failures } = aSlot(undefined, () => Promise.reject(overrun))
  const run = runOf(await slot.take(chat('run_1', 5)))
  const heard: ChatFrame[] = []
  run.follow((frame) => heard.push(frame))
  endings[0]?.('all')
  await expect.poll(() => failures).toEqual([overrun])
  expect(heard).toEqual([])
  expect(await slot.result('run_1', 0)).toEqual({ state: 'working', fence: 5 })
})

test('an outcome is published where only its path is taken', async () => {
  const { slot, endings, data, failures } = aSlot()
  const run = runOf(await slot.take(chat('run_1', 5)))
  // A file in the place of the folder: not even root can write below it.
  rmSync(join(data, '.flotilla'), { recursive: true, force: true })
  writeFileSync(join(data, '.flotilla'), '')
  endings[0]?.('all')
  expect(await run.ended).toMatchObject({ response: 'all' })
  expect(failures).toEqual([])
})

test('a finished run answers with its outcome and is not done again', async () => {
  const { slot, started, endings, data } = aSlot()
  const first = await slot.take(chat('run_1', 5))
  endings[0]?.('all')
  await runOf(first).ended
  for (const fence of [4, 5, 9]) {
    const again = await slot.take(chat('run_1', fence))
    expect(again).toMatchObject({ state: 'finished', result: { response: 'all', fence: Math.max(5, fence) } })
  }
  expect(await slot.result('run_1', 0)).toMatchObject({ result: { fence: 9 } })
  const afterRestart = aSlot(data)
  expect(await afterRestart.slot.take(chat('run_1', 9))).toMatchObject({ state: 'finished' })
  expect(await afterRestart.slot.result('run_1', 0)).toMatchObject({
    state: 'finished',
    result: { response: 'all' },
  })
  expect(started.length + afterRestart.started.length).toBe(1)
})

test('a finished run that is asked something else works again, with later steps', async () => {
  const { slot, started, endings } = aSlot()
  const first = await slot.take(chat('run_1', 5))
  endings[0]?.('all')
  await runOf(first).ended
  expect(await slot.take(chat('run_1', 6, 'results have come'))).toMatchObject({ state: 'executing' })
  expect(started[1]?.stepsUsed).toBe(7)
})

test('a higher fence aborts what is going on and leaves it no outcome', async () => {
  const { slot, started, outcomes } = aSlot()
  const first = await slot.take(chat('run_1', 5))
  const second = await slot.take(chat('run_2', 6))
  expect(second.state).toBe('executing')
  expect(started[0]?.signal.aborted).toBe(true)
  expect(await runOf(first).ended).toMatchObject({ status: 'cancelled', error: { code: 'stale-fence' } })
  expect(await outcomes.find('run_1')).toBeNull()
  expect(slot.current()?.request.runId).toBe('run_2')
})

test('a higher fence of the same run starts it anew', async () => {
  const { slot, started } = aSlot()
  await slot.take(chat('run_1', 5))
  expect(await slot.take(chat('run_1', 6))).toMatchObject({ state: 'executing' })
  expect(started.map((job) => job.request.fence)).toEqual([5, 6])
})

test('a lower fence is stale, also once the higher run has ended', async () => {
  const { slot, endings } = aSlot()
  const taking = await slot.take(chat('run_1', 5))
  await expect(slot.take(chat('run_2', 4))).rejects.toMatchObject({ code: 'stale-fence' })
  await expect(slot.take(chat('run_1', 4))).rejects.toMatchObject({ code: 'stale-fence' })
  endings[0]?.('all')
  await runOf(taking).ended
  await expect(slot.take(chat('run_2', 4))).rejects.toMatchObject({ code: 'stale-fence' })
})

test('another run with the same fence finds the agent busy', async () => {
  heedsLesson(68)
  const { slot } = aSlot()
  await slot.take(chat('run_1', 5))
  await expect(slot.take(chat('run_2', 5))).rejects.toMatchObject({ code: 'agent-busy' })
})

test('a cancelled run has an outcome that says so', async () => {
  const { slot } = aSlot()
  const taking = await slot.take(chat('run_1', 5))
  expect(slot.cancel('run_1', 4)).toBe(false)
  expect(slot.cancel('run_2', 5)).toBe(false)
  expect(slot.cancel('run_1', 5)).toBe(true)
  await runOf(taking).ended
  expect(await slot.result('run_1', 0)).toMatchObject({
    state: 'finished',
    result: { status: 'cancelled', error: { code: 'cancelled' } },
  })
})

test('a client that waits for a result gets it when it comes, or is informed that the run still executes', async () => {
  const { slot, endings } = aSlot()
  await slot.take(chat('run_1', 5))
  expect(await slot.result('run_1', 20)).toEqual({ state: 'working', fence: 5 })
  const waiting = slot.result('run_1', 10_000)
  endings[0]?.('all')
  expect(await waiting).toMatchObject({ state: 'finished' })
  expect(await slot.result('run_9', 0)).toEqual({ state: 'unknown' })
})

/**
 * A slot whose work throws once it is stopped, or at once if `error` is given; after the stop it throws
 * `afterStop` if given.
 */
function aSlotThatThrows(error?: unknown, afterStop?: Error) {
  const data = mkdtempSync(join(tmpdir(), 'slot-'))
  const outcomes = createOutcomes(data)
  const said: { readonly level: string; readonly code: unknown; readonly err: unknown }[] = []
  const says =
    (level: string): typeof quietLog.warn =>
    ({ code, err }) =>
      void said.push({ level, code, err })
  const log = { ...quietLog, warn: says('warn'), error: says('error') }
  const execute: ExecuteRun = ({ signal }) =>
    new Promise((_resolve, reject) => {
      if (error !== undefined) reject(error)
      signal.addEventListener('abort', () => reject(afterStop ?? signal.reason))
    })
  const checkpoints = createCheckpoints(data)
  const rest = { checkpoints, cannotWrite: () => {}, clock: systemClock, log }
  return { outcomes, said, slot: createRunSlot({ ...rest, outcomes, execute }) }
}

test.each([
  ['an error of ours', new Error('a bug'), 'internal-error'],
  ['what the mesh refused, by its name', new Problem('upstream-failed'), 'upstream-failed'],
  ['a full disk', Object.assign(new Error('no space'), { code: 'ENOSPC' }), 'data-full'],
])('%s ends the run as failed', async (_what, error, code) => {
  const { slot, said } = aSlotThatThrows(error)
  expect(await runOf(await slot.take(chat('run_1', 1))).ended).toMatchObject({
    status: 'failed',
    error: { code },
  })
  // A denial by the mesh is not an error of the agent.
  const refusal = { level: 'warn', code, err: error }
  expect(said).toEqual([error instanceof Problem ? refusal : { level: 'error', code: undefined, err: error }])
})

test.each([
  ['an error of ours', new Error('a bug'), 'error'],
  ['what the mesh refused', new Problem('upstream-failed'), 'warn'],
])('%s after a run was cancelled is logged, and the run is cancelled', async (_what, error, level) => {
  const { slot, said } = aSlotThatThrows(undefined, error)
  const run = runOf(await slot.take(chat('run_1', 1)))
  slot.cancel('run_1', 1)
  expect(await run.ended).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } })
  expect(said).toMatchObject([{ level, err: error }])
})

test('a run that throws while it is stopped is stopped, and left to the attempt that continues it', async () => {
  const { slot, outcomes } = aSlotThatThrows()
  const first = runOf(await slot.take(chat('run_1', 1)))
  const second = await slot.take(chat('run_1', 2))
  expect(second.state).toBe('executing')
  expect(await first.ended).toMatchObject({ status: 'cancelled', error: { code: 'stale-fence' } })
  expect(await outcomes.find('run_1')).toBeNull()
  await slot.stop()
  expect(await runOf(second).ended).toMatchObject({ status: 'cancelled' })
  expect(await outcomes.find('run_1')).toBeNull()
})

test('a run that throws while it is cancelled is cancelled without a log line', async () => {
  const { slot, said } = aSlotThatThrows()
  const run = runOf(await slot.take(chat('run_1', 1)))
  slot.cancel('run_1', 1)
  expect(await run.ended).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } })
  expect(said).toEqual([])
})

test('twenty outcomes are kept', async () => {
  const { slot, endings, data } = aSlot()
  for (let index = 1; index <= 25; index += 1) {
    const taking = await slot.take(chat(`run_${index}`, index))
    endings[index - 1]?.('all')
    await runOf(taking).ended
  }
  expect(readdirSync(join(data, '.flotilla', 'outcomes'))).toHaveLength(20)
  expect(await slot.result('run_25', 0)).toMatchObject({ state: 'finished' })
})

test('a stopped slot takes nothing more and leaves no outcome', async () => {
  const { slot, outcomes } = aSlot()
  await slot.take(chat('run_1', 5))
  await slot.stop()
  expect(await outcomes.find('run_1')).toBeNull()
  await expect(slot.take(chat('run_2', 6))).rejects.toMatchObject({ code: 'agent-unavailable' })
})

test('words reach the run under its fence, each once however often they are sent, and no other', async () => {
  const { slot, started, endings } = aSlot()
  const word = (id: string) => ({ id: `steer_${id}`, from: 'your user', text: id })
  await slot.take({ ...chat('run_1', 5), steers: [word('a')] })
  expect(slot.steer('run_1', 5, [word('a'), word('b')])).toBe(true)
  expect(slot.steer('run_1', 4, [word('c')])).toBe(false)
  expect(slot.steer('run_2', 5, [word('c')])).toBe(false)
  await slot.take({ ...chat('run_1', 5), steers: [word('b'), word('d')] })
  expect(started[0]?.hooks.steers().map(({ text }) => text)).toEqual(['a', 'b', 'd'])
  expect(slot.cancel('run_1', 5)).toBe(true)
  expect(slot.steer('run_1', 5, [word('e')])).toBe(false)
  endings[0]?.('all')
})

test('a lone tool call cannot be steered', async () => {
  const { slot } = aSlot()
  await slot.take({ kind: 'tool', runId: 'run_1', fence: 5, tool: 'list_files', params: {} })
  expect(slot.steer('run_1', 5, [{ id: 'steer_a', from: 'your user', text: 'a' }])).toBe(false)
})
