import { expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { subagentHarness, lastResult, never, uses } from '../testing/subagent-harness.ts'
import type { Think } from '../testing/subagent-harness.ts'
import { fakeTool, noMesh } from '../testing/loop-parts.ts'
import { createExclusiveUse } from './exclusive-use.ts'
import type { Tool } from './tool.ts'

const browser = (run?: () => unknown): Tool => ({
  ...fakeTool('browser', 'local', run),
  exclusive: 'browser',
})
const { signal } = new AbortController()
const context = { mesh: noMesh, idempotencyKey: 'run_1:1', taskId: null, signal }
const as = (subagent: string) => ({ ...context, subagent })

test('two sub-agents never have the browser at the same time, and who has it keeps it until it ends', async () => {
  verifies('limits:subagents:no-concurrent-browser')
  const browse = ['browser', { value: 'x' }] as const
  const firstHasIt = Promise.withResolvers<undefined>()
  const secondWasRefused = Promise.withResolvers<undefined>()
  const refusals: string[] = []
  const first: Think = async ({ turn }) => {
    if (turn === 0) return uses(browse)
    firstHasIt.resolve(undefined)
    await secondWasRefused.promise
    return { text: 'first is done' }
  }
  const second: Think = async (thought) => {
    if (thought.turn === 0) await firstHasIt.promise
    if (thought.turn !== 1) return thought.turn === 0 ? uses(browse) : { text: lastResult(thought) }
    refusals.push(lastResult(thought))
    secondWasRefused.resolve(undefined)
    await harness.subagents
      .supervisor()
      .then((supervisor) => supervisor.wait({ ids: ['sub_2'], until: 'all', timeoutSeconds: 5 }, signal))
    return uses(browse)
  }
  const harness = subagentHarness(
    (thought) => {
      if (thought.goal !== 'lead') return thought.goal === 'first' ? first(thought) : second(thought)
      const goals = [
        ['spawn_subagent', { goal: 'first' }] as const,
        ['spawn_subagent', { goal: 'second' }] as const,
      ]
      if (thought.turn === 0) return uses(...goals)
      return thought.turn === 1
        ? uses(['wait_for_subagent', { ids: ['sub_3'] }])
        : { text: lastResult(thought) }
    },
    [browser()],
  )
  const end = await harness.run()
  expect(refusals).toHaveLength(1)
  expect(refusals[0]).toMatch(
    /Sub-agent run_1:sub_2 is using the browser, which only one can use at a time: wait/,
  )
  expect(JSON.stringify(end)).toContain('ran x')
})

test('the agent itself has it for the length of a call, and more calls of its own at once are let in', async () => {
  const { guard } = createExclusiveUse()
  const slow = Promise.withResolvers<string>()
  const tool = guard(browser(() => slow.promise))
  const calls = [tool.run({ value: 'a' }, context), tool.run({ value: 'b' }, context)]
  await expect(tool.run({ value: 'c' }, as('run_1:sub_2'))).rejects.toMatchObject({ code: 'conflict' })
  slow.resolve('seen')
  await Promise.all(calls)
  expect(await tool.run({ value: 'c' }, as('run_1:sub_2'))).toMatchObject({ ok: true })
  await expect(tool.run({ value: 'a' }, context)).rejects.toMatchObject({ code: 'conflict' })
})

test('a sub-agent that has ended releases the resource when its last call has returned, and not before', async () => {
  const { guard, release } = createExclusiveUse()
  const stuck = Promise.withResolvers<string>()
  const tool = guard(browser(() => stuck.promise))
  const call = tool.run({ value: 'a' }, as('one'))
  release('one')
  await expect(tool.run({ value: 'a' }, as('two'))).rejects.toMatchObject({ code: 'conflict' })
  stuck.resolve('late')
  await call
  expect(await tool.run({ value: 'a' }, as('two'))).toMatchObject({ ok: true })
})

test('a tool without the mark is left as it is', () => {
  const tool = fakeTool('tool', 'none', never)
  expect(createExclusiveUse().guard(tool)).toBe(tool)
})
