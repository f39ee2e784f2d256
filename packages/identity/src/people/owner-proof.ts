import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { proofLimits } from '@flotilla/protocol/owner-proof'
import { Problem } from '@flotilla/protocol/problem'

/**
 * Proves that the person at a dashboard page makes the page's calls, before irreversible actions. A program of the
 * person requests a short code and prints it, and the person types it into the page. `person` is the name, null for
 * an owner who is not in the people file.
 *
 * 1. Each person has one open code at a time. It is valid for five minutes, for one use and five attempts of the same
 * person.
 * 2. A code grants a random proof for ten minutes. Only the page holds it; here its digest and person are stored.
 * 3. All state is in memory.
 */
export interface OwnerProofs {
  /** Issues a code and invalidates the previous one of the person. */
  issue(person: ProofPerson): { readonly code: string; readonly expires_at: number }
  /** True if a code of the person is open. */
  isCodeOpen(person: ProofPerson): boolean
  /**
   * Throws Problem `proof-wanted` for a wrong code, and `rate-limited` if no code is open, which does not count as an
   * attempt.
   */
  give(person: ProofPerson, code: string): { readonly proof: string; readonly expires_at: number }
  holds(proof: string, person: ProofPerson): boolean
}

export type ProofPerson = string | null

interface OpenCode {
  readonly digest: Buffer
  readonly until: number
  tries: number
}

/** The retry delay when no code is open, in seconds. */
const noCodeRetrySeconds = 5

export function createOwnerProofs(deps: {
  readonly clock: Pick<Clock, 'now'>
  readonly randomToken: () => string
  readonly randomNumber: (below: number) => number
}): OwnerProofs {
  const open = new Map<ProofPerson, OpenCode>()
  const given = new Map<string, { readonly person: ProofPerson; readonly until: number }>()

  function openOf(person: ProofPerson): OpenCode | null {
    const openCode = open.get(person)
    return openCode !== undefined && openCode.until > deps.clock.now() ? openCode : null
  }

  return {
    issue(person) {
      const code = String(deps.randomNumber(10 ** proofLimits.codeDigits)).padStart(
        proofLimits.codeDigits,
        '0',
      )
      open.delete(person)
      makeRoom(open, proofLimits.openMax)
      const until = deps.clock.now() + proofLimits.codeMs
      open.set(person, { digest: digestOf(code), until, tries: 0 })
      return { code, expires_at: until }
    },
    isCodeOpen: (person) => openOf(person) !== null,
    give(person, code) {
      const openCode = openOf(person)
      if (openCode === null) {
        throw new Problem('rate-limited', {
          detail: 'no code is open; flotilla proof prints one',
          repair:
            'Run flotilla proof in a terminal of the machine, and type the code that it prints into the page.',
          retryAfterSeconds: noCodeRetrySeconds,
        })
      }
      openCode.tries += 1
      if (!timingSafeEqual(openCode.digest, digestOf(code.trim()))) {
        if (openCode.tries < proofLimits.triesMax) throw proofRequired('wrong code')
        open.delete(person)
        throw proofRequired(`wrong code; after ${proofLimits.triesMax} attempts the code is invalid`)
      }
      open.delete(person)
      makeRoom(given, proofLimits.givenMax)
      const proof = deps.randomToken()
      const until = deps.clock.now() + proofLimits.proofMs
      given.set(digestOf(proof).toString('hex'), { person, until })
      return { proof, expires_at: until }
    },
    holds(proof, person) {
      const found = given.get(digestOf(proof).toString('hex'))
      return found !== undefined && found.person === person && found.until > deps.clock.now()
    },
  }
}

/** Removes the oldest entries, which also expire first. Their holders must prove themselves again. */
function makeRoom<Key>(all: Map<Key, unknown>, max: number): void {
  for (const key of all.keys()) {
    if (all.size < max) return
    all.delete(key)
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function proofRequired(detail: string): Problem {
  return new Problem('proof-wanted', { detail })
}
