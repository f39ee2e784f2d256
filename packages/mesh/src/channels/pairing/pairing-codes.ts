import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import { channelPairing } from '@flotilla/protocol/channels-api'
import type { HumanCaller } from '../../access/index.ts'

/**
 * Codes that are printed at the terminal and shown on a platform by whoever is the owner there. Each channel has one open at a
 * time: it holds ten minutes, opens once and bears five tries, whoever makes them. Nothing of it outlives the process.
 */
export interface PairingCodes {
  /** The code before, if any, opens nothing any more. */
  issue(channel: ChannelName, issuer: HumanCaller): { readonly code: string; readonly expiresAt: number }
  isOpen(channel: ChannelName): boolean
  /** Whose code it is; null for a wrong one, which counts as a try. The right one is used up. */
  take(channel: ChannelName, text: string): HumanCaller | null
}

interface OpenCode {
  readonly digest: Buffer
  readonly issuer: HumanCaller
  readonly until: number
  tries: number
}

export function createPairingCodes(deps: {
  readonly clock: Pick<Clock, 'now'>
  /** A whole number from 0, below `below`. */
  readonly randomNumber: (below: number) => number
}): PairingCodes {
  const open = new Map<ChannelName, OpenCode>()

  function openOf(channel: ChannelName): OpenCode | null {
    const found = open.get(channel)
    if (!found) return null
    if (found.until > deps.clock.now()) return found
    open.delete(channel)
    return null
  }

  return {
    issue(channel, issuer) {
      const { codeChars, alphabet, codeMs } = channelPairing
      const code = Array.from({ length: codeChars }, () => alphabet[deps.randomNumber(alphabet.length)]).join(
        '',
      )
      const expiresAt = deps.clock.now() + codeMs
      open.set(channel, { digest: digestOf(code), issuer, until: expiresAt, tries: 0 })
      return { code, expiresAt }
    },
    isOpen: (channel) => openOf(channel) !== null,
    take(channel, text) {
      const found = openOf(channel)
      if (!found) return null
      found.tries += 1
      const isRight = timingSafeEqual(found.digest, digestOf(text))
      if (isRight || found.tries >= channelPairing.triesMax) open.delete(channel)
      return isRight ? found.issuer : null
    },
  }
}

/** The code in what somebody wrote: alone, or behind `/start` or `/pair`; null where there is none. Pure. */
export function codeIn(text: string): string | null {
  const { alphabet, codeChars } = channelPairing
  const found = /^(?:\/(?:start|pair)(?:@\w{1,64})?\s+)?([A-Za-z0-9]+)$/.exec(text.trim())?.[1]?.toUpperCase()
  if (found?.length !== codeChars) return null
  return found.split('').every((char) => alphabet.includes(char)) ? found : null
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
