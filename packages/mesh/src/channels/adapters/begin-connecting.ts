import { ChannelFailure } from '../adapter.ts'

export interface Connecting {
  /**
   * Resolves with the first connection. Rejects with the error that ended the loop before it, or because it was
   * closed.
   */
  readonly first: Promise<void>
  /** Resolves when the connection loop has ended, for whatever reason. */
  readonly over: Promise<void>
}

/**
 * Starts a loop of connections to a platform. `live` reports the first open connection and rejects if it gives up.
 */
export function beginConnecting(platform: string, live: (onFirst: () => void) => Promise<void>): Connecting {
  const { promise: first, resolve, reject } = Promise.withResolvers<void>()
  const over = live(resolve).then(
    () => reject(new ChannelFailure('unreachable', `the channel was closed before ${platform} answered`)),
    (error: unknown) => reject(error),
  )
  return { first, over }
}
