import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import type { Live, LivingBrowser } from '../tabs/living-browser.ts'
import { createActionQueue } from './action-queue.ts'
import { createPerformAction } from './perform-action.ts'

const never = new Promise<never>(() => undefined)

/** A browser whose front tab answers nothing; `closing` is what becomes of an attempt to close that tab. */
function aDeadTab(closing: Promise<void>, open?: () => Promise<never>) {
  const clock = createManualClock()
  const seen = { closedBrowser: 0, notices: [] as string[], warnings: [] as string[] }
  const page = { evaluate: () => never, url: () => 'http://shop.test/', title: () => never }
  const live = {
    launched: { ended: never },
    tabs: {
      active: open ?? (async () => page),
      close: () => closing,
      notice: (text: string) => seen.notices.push(text),
    },
    copyGuard: { settle: () => never },
    references: { find: () => null },
  }
  const browser: Partial<LivingBrowser> = {
    use: async () => live as unknown as Live,
    close: async () => {
      seen.closedBrowser += 1
      return true
    },
  }
  const perform = createPerformAction({
    browser: browser as LivingBrowser,
    queue: createActionQueue(),
    scrub: (text) => text,
    isPersonInControl: () => false,
    clock,
    log: {
      info: () => undefined,
      error: () => undefined,
      warn: (_fields, message) => void seen.warnings.push(message),
    },
  })
  const ended = perform('snapshot', { params: {}, deadline_ms: 1000 })
  return { clock, seen, ended }
}

test('a browser that opens no tab ends at the deadline of the action, so that the next one starts it again', async () => {
  const { clock, seen, ended } = aDeadTab(Promise.resolve(), () => never)
  const replies: unknown[] = []
  void ended.then((reply) => replies.push(reply))
  for (let step = 0; step < 10 && replies.length === 0; step++) {
    await new Promise(setImmediate)
    await clock.advance(500)
  }
  expect(replies[0]).toMatchObject({ ok: false, problem: { code: 'deadline-passed' } })
  expect(seen.closedBrowser).toBe(1)
})

test.each([
  ['is closed', Promise.resolve(), 0],
  ['ends the browser where it cannot be closed', never, 1],
])(
  'a tab that does not answer %s, so that it blocks no later action',
  async (_what, closing, closedBrowser) => {
    const { clock, seen, ended } = aDeadTab(closing)
    const replies: unknown[] = []
    void ended.then((reply) => replies.push(reply))
    while (replies.length === 0) {
      await new Promise(setImmediate)
      await clock.advance(500)
    }
    expect(replies[0]).toMatchObject({ ok: false, problem: { code: 'deadline-passed' } })
    expect(seen.notices).toEqual(['A tab did not answer and was closed.'])
    expect(seen.closedBrowser).toBe(closedBrowser)
    expect(seen.warnings).toHaveLength(closedBrowser)
  },
)
