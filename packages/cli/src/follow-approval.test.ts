import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { expect, test } from 'vitest'
import { followApproval } from './follow-approval.ts'

const minuteMs = 60_000

const approval = (state: ApprovalView['state'], detail = '') =>
  ({ id: 'appr_1', summary: 'add zod', state, detail }) as ApprovalView

/** Follows an action that ends after some time, on a clock that only waits move. */
async function followed(first: ApprovalView, end: ApprovalView | Error, endsAtMs: number) {
  let nowMs = 0
  const shown: string[] = []
  const result = followApproval(first, {
    read: async () => {
      if (nowMs < endsAtMs) return approval('confirmed')
      if (end instanceof Error) throw end
      return end
    },
    progress: {
      step: (label) => void shown.push(label),
      done: () => void shown.push('done'),
      fail: () => void shown.push('failed'),
    },
    clock: { sleep: async (ms) => void (nowMs += ms) },
    signal: new AbortController().signal,
  })
  return { shown, result: await result.catch((error: unknown) => error), waitedMs: nowMs }
}

test('an action that takes half an hour is followed until it ends', async () => {
  const end = approval('done', 'The packages are in the image.')
  const { result, shown, waitedMs } = await followed(approval('confirmed'), end, 30 * minuteMs)
  expect(result).toEqual(end)
  expect(waitedMs).toBe(30 * minuteMs)
  expect(shown).toEqual(['Confirmed; the mesh carries it out: add zod', 'done'])
})

test('an action that fails, and a mesh that stops answering, end the progress as failed', async () => {
  const failed = approval('failed', 'no such package')
  const { result, shown } = await followed(approval('confirmed'), failed, minuteMs)
  expect([result, shown.at(-1)]).toEqual([failed, 'failed'])
  const gone = new Error('no mesh answers')
  const second = await followed(approval('confirmed'), gone, minuteMs)
  expect([second.result, second.shown.at(-1)]).toEqual([gone, 'failed'])
})

test('an action that has ended is neither read again nor waited for', async () => {
  const end = approval('done', 'Wiped.')
  expect(await followed(end, new Error('read'), 0)).toEqual({ result: end, shown: [], waitedMs: 0 })
})
