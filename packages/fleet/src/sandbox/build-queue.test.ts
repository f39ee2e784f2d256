import { expect, test } from 'vitest'
import { createBuildQueue } from './build-queue.ts'

const never = new AbortController().signal

test('builds run one after another, and each that waits says for what', async () => {
  const queue = createBuildQueue()
  const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const begun: string[] = []
  const steps: string[] = []
  const builds = gates.map((gate, at) =>
    queue.take({ name: `build ${at}`, signal: never, progress: (step) => steps.push(step) }, () => {
      begun.push(`build ${at}`)
      return gate.promise
    }),
  )
  await new Promise(setImmediate)
  expect([begun, steps]).toEqual([['build 0'], ['Waiting for build 0']])
  gates[0]?.resolve('first')
  gates[1]?.resolve('second')
  expect(await Promise.all(builds)).toEqual(['first', 'second'])
  await queue.idle()
})

test('an abort ends the wait at once, and the next build waits for those before it alone', async () => {
  const queue = createBuildQueue()
  const gate = Promise.withResolvers<void>()
  const first = queue.take({ name: 'the first', signal: never }, () => gate.promise)
  const stop = new AbortController()
  let hasBegun = false
  const second = queue.take({ name: 'the second', signal: stop.signal }, async () => {
    hasBegun = true
  })
  const steps: string[] = []
  const third = queue.take(
    { name: 'the third', signal: never, progress: (step) => steps.push(step) },
    async () => 'third',
  )
  stop.abort(new Error('stopped'))
  // The first build has not ended.
  await expect(second).rejects.toThrow('stopped')
  gate.resolve()
  await first
  expect(await third).toBe('third')
  expect([hasBegun, steps]).toEqual([false, ['Waiting for the first']])
})

test('a failed build lets the next one run', async () => {
  const queue = createBuildQueue()
  const failed = queue.take({ name: 'one', signal: never }, () => Promise.reject(new Error('failed')))
  const next = queue.take({ name: 'two', signal: never }, async () => 'two')
  await expect(failed).rejects.toThrow('failed')
  expect(await next).toBe('two')
})
