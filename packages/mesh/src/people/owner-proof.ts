import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { proofLimits } from '@flotilla/protocol/owner-proof'
import { Problem } from '@flotilla/protocol/problem'

/**
 * That whoever sits at a page is the owner, asked anew before what cannot be undone: a short code that a program of the
 * owner's asks for and prints, given back at the page.
 *
 * 1. One code is open at a time; it holds five minutes, opens once, and bears five tries.
 * 2. What it opens is a random proof that only the page holds, for ten minutes; here stands its digest.
 * 3. Nothing of it outlives the process.
 */
export interface OwnerProofs {
  /** A new code; the one before opens nothing any more. */
  issue(): { readonly code: string; readonly expires_at: number }
  /** Problem `proof-wanted` for a code that is not, or no longer, right. */
  give(code: string): { readonly proof: string; readonly expires_at: number }
  holds(proof: string): boolean
}

export function createOwnerProofs(deps: {
  readonly clock: Pick<Clock, 'now'>
  readonly randomToken: () => string
  readonly randomNumber: (below: number) => number
}): OwnerProofs {
  let open: { readonly digest: Buffer; readonly until: number; tries: number } | null = null
  const given = new Map<string, number>()

  function sweep(): void {
    const now = deps.clock.now()
    for (const [digest, until] of given) if (until <= now) given.delete(digest)
    // The oldest goes first: whoever holds it is asked once more.
    while (given.size >= proofLimits.givenMax) given.delete(given.keys().next().value ?? '')
  }

  return {
    issue() {
      const code = String(deps.randomNumber(10 ** proofLimits.codeDigits)).padStart(
        proofLimits.codeDigits,
        '0',
      )
      const until = deps.clock.now() + proofLimits.codeMs
      open = { digest: digestOf(code), until, tries: 0 }
      return { code, expires_at: until }
    },
    give(code) {
      const now = deps.clock.now()
      const asked = open
      if (asked === null || asked.until <= now) {
        open = null
        throw wanted('no code is open; flotilla proof prints one')
      }
      asked.tries += 1
      if (!timingSafeEqual(asked.digest, digestOf(code.trim()))) {
        if (asked.tries < proofLimits.triesMax) throw wanted('this is not the code')
        open = null
        throw wanted(
          `this is not the code, and after ${proofLimits.triesMax} tries it opens nothing any more`,
        )
      }
      open = null
      sweep()
      const proof = deps.randomToken()
      const until = now + proofLimits.proofMs
      given.set(digestOf(proof).toString('hex'), until)
      return { proof, expires_at: until }
    },
    holds: (proof) => (given.get(digestOf(proof).toString('hex')) ?? 0) > deps.clock.now(),
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function wanted(detail: string): Problem {
  return new Problem('proof-wanted', { detail })
}
