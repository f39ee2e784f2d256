import { ChannelFailure } from '../adapter.ts'

export interface Connecting {
  /** Resolves with the first connection; rejects with what ended the life before it, also where it was closed. */
  readonly first: Promise<void>
  /** Resolves when the life has ended, however it did. */
  readonly over: Promise<void>
}

/**
 * Begins the life of connections to a platform, one after the other. `live` says when the first stands, and rejects where no
 * further one is tried.
 */
export function beginConnecting(platform: string, live: (onFirst: () => void) => Promise<void>): Connecting {
  const { promise: first, resolve, reject } = Promise.withResolvers<void>()
  const over = live(resolve).then(
    () => reject(new ChannelFailure('unreachable', `the channel was closed before ${platform} answered`)),
    (error: unknown) => reject(error),
  )
  return { first, over }
}
