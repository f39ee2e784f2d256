import { browserLimits } from '@flotilla/protocol/browser-service-api'
import { ActionProblem } from './action-problem.ts'

/** One thing at a time in the order of arrival, since a page has one pointer and one keyboard. */
export interface ActionQueue {
  /** Rejects with `browser-busy` where `browserLimits.queuedActionsMax` wait already. */
  run<T>(action: () => Promise<T>): Promise<T>
  /** After what waits; never refused. */
  runLast<T>(action: () => Promise<T>): Promise<T>
  readonly busy: boolean
}

const retryMs = 2000

export function createActionQueue(): ActionQueue {
  let tail: Promise<unknown> = Promise.resolve()
  let pending = 0
  const append = <T>(action: () => Promise<T>): Promise<T> => {
    pending += 1
    const result = tail.then(action).finally(() => {
      pending -= 1
    })
    tail = result.catch(() => undefined)
    return result
  }
  return {
    async run(action) {
      // One of them is at work.
      if (pending > browserLimits.queuedActionsMax)
        throw new ActionProblem(
          'browser-busy',
          `${browserLimits.queuedActionsMax} actions wait already. Try again in a moment.`,
          retryMs,
        )
      return append(action)
    },
    runLast: append,
    get busy() {
      return pending > 0
    },
  }
}
