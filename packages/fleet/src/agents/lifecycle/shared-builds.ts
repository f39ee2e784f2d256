/** Builds that callers share by key. A build is aborted when its last caller has aborted. */
export interface SharedBuilds<T> {
  /**
   * Joins the build with this key, or begins one. Rejects with the reason of `signal` as soon as it aborts; the build
   * goes on for its other callers.
   */
  join(key: string, build: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>
  has(key: string): boolean
  /** Resolves when no build with this key is in progress, however it ended. */
  idle(key: string): Promise<void>
}

interface Shared<T> {
  readonly done: Promise<T>
  readonly controller: AbortController
  callers: number
}

export function createSharedBuilds<T>(): SharedBuilds<T> {
  const underWay = new Map<string, Shared<T>>()

  function begin(key: string, build: (signal: AbortSignal) => Promise<T>): Shared<T> {
    const controller = new AbortController()
    const done = build(controller.signal).finally(() => {
      if (underWay.get(key)?.controller === controller) underWay.delete(key)
    })
    // A build without callers any more may still reject.
    done.catch(() => undefined)
    const shared: Shared<T> = { done, controller, callers: 0 }
    underWay.set(key, shared)
    return shared
  }

  function leave(key: string, shared: Shared<T>, reason: unknown): void {
    shared.callers -= 1
    if (shared.callers > 0) return
    // Later callers do not share a build that is being aborted.
    if (underWay.get(key) === shared) underWay.delete(key)
    shared.controller.abort(reason)
  }

  return {
    has: (key) => underWay.has(key),
    idle: async (key) => void (await underWay.get(key)?.done.catch(() => undefined)),
    join: async (key, build, signal) => {
      signal?.throwIfAborted()
      const shared = underWay.get(key) ?? begin(key, build)
      shared.callers += 1
      const aborted = Promise.withResolvers<never>()
      const abort = (): void => {
        leave(key, shared, signal?.reason)
        aborted.reject(signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      try {
        return await Promise.race([shared.done, aborted.promise])
      } finally {
        signal?.removeEventListener('abort', abort)
      }
    },
  }
}
