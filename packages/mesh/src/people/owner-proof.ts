import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { proofLimits } from '@flotilla/protocol/owner-proof'
import { Problem } from '@flotilla/protocol/problem'

/**
 * That whoever sits at a page is who the page's calls come from, asked anew before what cannot be undone: a short code that
 * a program of theirs asks for and prints, given back at the page. `person` is their name, null for an owner whom the file
 * of people does not name.
 *
 * 1. Each has one code open at a time; it holds five minutes, opens once, and bears five tries, all of that same person's.
 * 2. What it opens is a random proof that only the page holds, for ten minutes; here stands its digest, and whose it is.
 * 3. Nothing of it outlives the process.
 */
export interface OwnerProofs {
  /** A new code of theirs; their code before opens nothing any more. */
  issue(person: ProofPerson): { readonly code: string; readonly expires_at: number }
  /** Whether a code of theirs waits to be typed. */
  isAsked(person: ProofPerson): boolean
  /** Problem `proof-wanted` for a wrong code, `rate-limited` where none of theirs is open: that counts as no try. */
  give(person: ProofPerson, code: string): { readonly proof: string; readonly expires_at: number }
  holds(proof: string, person: ProofPerson): boolean
}

export type ProofPerson = string | null

interface OpenCode {
  readonly digest: Buffer
  readonly until: number
  tries: number
}

/** Whoever tried where no code is open may try again after so many seconds; it will not help before there is one. */
const noCodeRetrySeconds = 5

export function createOwnerProofs(deps: {
  readonly clock: Pick<Clock, 'now'>
  readonly randomToken: () => string
  readonly randomNumber: (below: number) => number
}): OwnerProofs {
  const open = new Map<ProofPerson, OpenCode>()
  const given = new Map<string, { readonly person: ProofPerson; readonly until: number }>()

  function openOf(person: ProofPerson): OpenCode | null {
    const asked = open.get(person)
    return asked !== undefined && asked.until > deps.clock.now() ? asked : null
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
    isAsked: (person) => openOf(person) !== null,
    give(person, code) {
      const asked = openOf(person)
      if (asked === null) {
        throw new Problem('rate-limited', {
          detail: 'no code is open; flotilla proof prints one',
          repair:
            'Run flotilla proof in a terminal of the machine, and type the code that it prints into the page.',
          retryAfterSeconds: noCodeRetrySeconds,
        })
      }
      asked.tries += 1
      if (!timingSafeEqual(asked.digest, digestOf(code.trim()))) {
        if (asked.tries < proofLimits.triesMax) throw wanted('this is not the code')
        open.delete(person)
        throw wanted(
          `this is not the code, and after ${proofLimits.triesMax} tries it opens nothing any more`,
        )
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

/** The oldest goes, which is also what is over first: whoever holds it is asked once more. */
function makeRoom<Key>(all: Map<Key, unknown>, max: number): void {
  for (const key of all.keys()) {
    if (all.size < max) return
    all.delete(key)
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function wanted(detail: string): Problem {
  return new Problem('proof-wanted', { detail })
}
