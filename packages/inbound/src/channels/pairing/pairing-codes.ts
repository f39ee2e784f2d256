import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import { channelPairing } from '@flotilla/protocol/channels-api'
import type { ChannelView } from '@flotilla/protocol/channels-api'
import type { HumanCaller } from '@flotilla/identity/access'

/**
 * Pairing codes. The owner prints one at the terminal and sends it on the platform. Each channel has one open code,
 * valid for ten minutes and for one use. Five wrong attempts lock out their sender only, so that strangers cannot use
 * up the owner's attempts. A limit over all senders (a million of 2^40 codes) makes guessing useless. Codes live in
 * memory only.
 */
export interface PairingCodes {
  /** Replaces the previous code. */
  issue(channel: ChannelName, issuer: HumanCaller): { readonly code: string; readonly expiresAt: number }
  isOpen(channel: ChannelName): boolean
  /** Returns the state of the last code; null if no code was issued. */
  find(channel: ChannelName): ChannelView['pairing']
  /**
   * Returns the person who issued the code; null for a wrong code, which counts as an attempt of
   * the sender. A right code is used up.
   */
  take(channel: ChannelName, senderId: string, text: string): HumanCaller | null
  /** Records the result for the sender of the right code: the linked name, or why it failed. */
  settle(channel: ChannelName, end: 'paired' | 'refused', detail: string): void
  /** Invalidates the code and forgets its result. */
  close(channel: ChannelName): void
}

interface IssuedCode {
  readonly digest: Buffer
  readonly issuer: HumanCaller
  readonly until: number
  state: 'open' | 'taken' | 'paired' | 'refused' | 'ended'
  detail: string
  tries: number
  /** Attempts per sender, for a limited number of senders. */
  readonly triesOf: Map<string, number>
}

export function createPairingCodes(deps: {
  readonly clock: Pick<Clock, 'now'>
  /** Returns a random integer from 0 to `below` - 1. */
  readonly randomNumber: (below: number) => number
  /** After this many wrong attempts of all senders together, a code is closed. */
  readonly allTriesMax?: number
}): PairingCodes {
  const { allTriesMax = channelPairing.allTriesMax } = deps
  const issued = new Map<ChannelName, IssuedCode>()

  function openOf(channel: ChannelName): IssuedCode | null {
    const found = issued.get(channel)
    if (found?.state !== 'open') return null
    if (found.until > deps.clock.now()) return found
    found.state = 'ended'
    return null
  }

  return {
    issue(channel, issuer) {
      const { codeChars, alphabet, codeMs } = channelPairing
      const code = Array.from({ length: codeChars }, () => alphabet[deps.randomNumber(alphabet.length)]).join(
        '',
      )
      const expiresAt = deps.clock.now() + codeMs
      const fresh = { state: 'open', detail: '', tries: 0, triesOf: new Map() } as const
      issued.set(channel, { ...fresh, digest: digestOf(code), issuer, until: expiresAt })
      return { code, expiresAt }
    },
    isOpen: (channel) => openOf(channel) !== null,
    find(channel) {
      openOf(channel)
      const found = issued.get(channel)
      if (!found) return null
      const { state, until, tries, detail } = found
      return { state: state === 'taken' ? 'open' : state, expires_at: until, wrong_tries: tries, detail }
    },
    take(channel, senderId, text) {
      const found = openOf(channel)
      if (!found) return null
      const own = found.triesOf.get(senderId) ?? 0
      if (own >= channelPairing.triesMax) return null
      if (timingSafeEqual(found.digest, digestOf(text))) {
        found.state = 'taken'
        return found.issuer
      }
      found.tries += 1
      const isCounted = own > 0 || found.triesOf.size < channelPairing.sendersMax
      if (isCounted) found.triesOf.set(senderId, own + 1)
      if (found.tries >= allTriesMax) found.state = 'ended'
      return null
    },
    settle: (channel, end, detail) => {
      const found = issued.get(channel)
      if (found?.state === 'taken') Object.assign(found, { state: end, detail })
    },
    close: (channel) => void issued.delete(channel),
  }
}

/** Returns the code in a message: alone, or after `/start` or `/pair`; null if the message has no code. Pure. */
export function codeIn(text: string): string | null {
  const { alphabet, codeChars } = channelPairing
  const found = /^(?:\/(?:start|pair)(?:@\w{1,64})?\s+)?([A-Za-z0-9]+)$/.exec(text.trim())?.[1]?.toUpperCase()
  if (found?.length !== codeChars) return null
  return found.split('').every((char) => alphabet.includes(char)) ? found : null
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
