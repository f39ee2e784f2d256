import { randomBytes } from 'node:crypto'
import { uptime } from 'node:os'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'

/** The machine's clock and random numbers; no other code of the mesh may use either directly. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, signal ? { signal } : {})
    } catch (error) {
      // Node rejects with an AbortError of its own; callers are promised the signal's reason.
      throw signal?.aborted ? signal.reason : error
    }
  },
}

/** Milliseconds since the machine started, including sleep, unaffected by clock changes; precise to 10 ms. */
export function steadyMs(): number {
  return uptime() * 1_000
}

/** Processor time that the mesh's main thread has used, milliseconds. */
export function loopCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

export const randomId: NewId = (prefix) => `${prefix}_${randomBytes(8).toString('hex')}`

/** A random number from 0 (inclusive) to 1 (exclusive). */
export function randomChance(): number {
  return randomBytes(4).readUInt32LE() / 2 ** 32
}

/** For salts and nonces. */
export function freshBytes(count: number): Buffer {
  return randomBytes(count)
}

/** 256 random bits as 43 URL-safe characters. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url')
}
