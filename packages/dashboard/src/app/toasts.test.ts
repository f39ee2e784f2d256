import { Problem } from '@flotilla/protocol/problem'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createToastStore } from './toasts.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a message with a way back stays longer, and is taken back once', async () => {
  const toasts = createToastStore()
  let undone = 0
  toasts.tell('It is saved.', async () => {
    undone += 1
    return 'It is as it was.'
  })
  toasts.tell('Something else.')
  vi.advanceTimersByTime(5000)
  expect(toasts.list().map(({ title }) => title)).toEqual(['It is saved.'])
  const id = toasts.list()[0]?.id ?? 0
  await Promise.all([toasts.undo(id), toasts.undo(id)])
  expect(undone).toBe(1)
  expect(toasts.list().map(({ title }) => title)).toEqual(['It is as it was.'])
})

test('an error is shown under the title that is given, with the repair of its problem', () => {
  const toasts = createToastStore()
  toasts.fail(new Problem('conflict', { detail: 'it is gone' }), '2 of 3 agents failed.')
  expect(toasts.list()).toMatchObject([
    { title: '2 of 3 agents failed.', code: 'conflict', repair: expect.stringMatching(/./) },
  ])
})

test('an undo that reports its failures itself is not reported as done', async () => {
  const toasts = createToastStore()
  toasts.tell('2 agents paused.', async () => {
    toasts.fail(new Error('gone'), '2 of 2 agents failed.')
    return null
  })
  await toasts.undo(toasts.list()[0]?.id ?? 0)
  expect(toasts.list()).toMatchObject([{ tone: 'bad', title: '2 of 2 agents failed.' }])
  expect(toasts.list()).toHaveLength(1)
})

test('an undo that is no longer possible is shown with its reason', async () => {
  const toasts = createToastStore()
  toasts.tell('It is saved.', async () => {
    throw new Error('It was changed since.')
  })
  await toasts.undo(toasts.list()[0]?.id ?? 0)
  expect(toasts.list()).toMatchObject([{ tone: 'bad', title: 'It was changed since.' }])
})
