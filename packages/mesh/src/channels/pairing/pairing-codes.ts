import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import { channelPairing } from '@flotilla/protocol/channels-api'
import type { ChannelView } from '@flotilla/protocol/channels-api'
import type { HumanCaller } from '../../access/index.ts'

/**
 * Codes that are printed at the terminal and shown on a platform by whoever is the owner there. Each channel has one open at a
 * time: it holds ten minutes and opens once. Five wrong ones close it to whoever sent them and to nobody else, so that
 * strangers cannot use up the owner's; all wrong ones together are bounded where guessing is still of no use (a million of
 * 2^40). Nothing of it outlives the process.
 */
export interface PairingCodes {
  /** The code before, if any, opens nothing any more. */
  issue(channel: ChannelName, issuer: HumanCaller): { readonly code: string; readonly expiresAt: number }
  isOpen(channel: ChannelName): boolean
  /** How the code stands that was issued last; null where none was. */
  find(channel: ChannelName): ChannelView['pairing']
  /** Whose code it is; null for a wrong one, which counts as a try of the sender's. The right one is used up. */
  take(channel: ChannelName, senderId: string, text: string): HumanCaller | null
  /** What became of whoever showed the right one: who they are now, or why they are not. */
  settle(channel: ChannelName, end: 'paired' | 'refused', detail: string): void
  /** The code opens nothing any more, and nothing is told of it. */
  close(channel: ChannelName): void
}

interface IssuedCode {
  readonly digest: Buffer
  readonly issuer: HumanCaller
  readonly until: number
  state: 'open' | 'taken' | 'paired' | 'refused' | 'ended'
  detail: string
  tries: number
  /** Tries by sender, of as many senders as are told apart. */
  readonly triesOf: Map<string, number>
}

export function createPairingCodes(deps: {
  readonly clock: Pick<Clock, 'now'>
  /** A whole number from 0, below `below`. */
  readonly randomNumber: (below: number) => number
  /** Wrong ones of all senders together, at which a code ends. */
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
