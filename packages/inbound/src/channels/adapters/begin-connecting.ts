import { ChannelFailure } from '../adapter.ts'

export interface Connecting {
  /**
   * Resolves when the first connection is open. If the loop ends earlier, rejects with the error of the loop, or with
   * `unreachable` if the channel was closed.
   */
  readonly first: Promise<void>
  /** Resolves when the connection loop has ended, with or without an error. */
  readonly over: Promise<void>
}

/** Starts a connection loop. `live` calls `onFirst` when a connection opens, and rejects if it gives up. */
export function beginConnecting(platform: string, live: (onFirst: () => void) => Promise<void>): Connecting {
  const { promise: first, resolve, reject } = Promise.withResolvers<void>()
  const over = live(resolve).then(
    () =>
      reject(new ChannelFailure('unreachable', `the channel was switched off before ${platform} answered`)),
    (error: unknown) => reject(error),
  )
  return { first, over }
}
