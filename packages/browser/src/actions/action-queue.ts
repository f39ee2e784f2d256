import { browserLimits } from '@flotilla/protocol/browser-service-api'
import { ActionProblem } from './action-problem.ts'

/** Runs actions one at a time in the order of arrival, because a page has one pointer and one keyboard. */
export interface ActionQueue {
  /** Rejects with `browser-busy` if `browserLimits.queuedActionsMax` actions are waiting. */
  run<T>(action: () => Promise<T>): Promise<T>
  /** Runs the action after all waiting actions; never rejects it as busy. */
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
      // `pending` includes the running action.
      if (pending > browserLimits.queuedActionsMax)
        throw new ActionProblem(
          'browser-busy',
          `${browserLimits.queuedActionsMax} actions are waiting already. Try again in a moment.`,
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
