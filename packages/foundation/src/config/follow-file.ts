import { dirname } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { readTextFile, sameStamp, stampOf } from './atomic-file.ts'
import { createDeviceGuard } from './device-guard.ts'
import type { FileStamp } from './atomic-file.ts'

/** Half of the second within which a change by hand must be noticed. */
const pollIntervalMs = 500

export interface FollowedFile {
  /** Reads the file now. */
  refresh(): Promise<void>
  close(): Promise<void>
}

/**
 * Follows the text of a file that a person may edit. Calls `take` once before `followFile` resolves, after each
 * change, and on `refresh`; with null if the file does not exist. Reads are serialized. Errors of `take` are reported
 * as read errors, and a failed read is repeated until one succeeds: a disk may recover without a change of the file.
 */
export async function followFile(deps: {
  readonly path: string
  readonly clock: Clock
  /** Returns `again` if part of the work is not done; then `take` is called again at the next check. */
  readonly take: (text: string | null) => void | 'again' | Promise<void | 'again'>
  readonly onUnreadable: (error: unknown) => void
}): Promise<FollowedFile> {
  const { path, clock } = deps
  const stopping = new AbortController()
  const requireDevice = createDeviceGuard(dirname(path))
  let stamp: FileStamp | null = null
  let reading: Promise<void> = Promise.resolve()
  /** True if the last check of the file failed: the next check reads the file even if it did not change. */
  let isOwed = false

  async function load(): Promise<void> {
    try {
      // The stamp is taken before the text, so that the next poll detects a write between these two reads.
      await requireDevice()
      stamp = await stampOf(path)
      const text = await readTextFile(path)
      isOwed = (await deps.take(text)) === 'again'
    } catch (error) {
      isOwed = true
      deps.onUnreadable(error)
    }
  }

  function refresh(): Promise<void> {
    reading = reading.catch(() => {}).then(load)
    return reading
  }

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(pollIntervalMs, stopping.signal)
      const found = await stampOf(path).catch(() => null)
      // Polling continues whatever a check throws.
      if (isOwed || !sameStamp(found, stamp)) await refresh().catch(() => {})
    }
  }

  await refresh()
  const polling = poll().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error
  })
  return {
    refresh,
    close: async () => {
      stopping.abort()
      await polling
    },
  }
}
