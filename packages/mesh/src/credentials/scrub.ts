import { createScrubs as createScrubsOf } from '@flotilla/protocol/secret-text/scrub'
import type { ScrubFor as ScrubOf } from '@flotilla/protocol/secret-text/scrub'
import type { Secret } from './secret.ts'

export type { Scrub } from '@flotilla/protocol/secret-text/scrub'
export type ScrubFor = ScrubOf<Secret>

/** Takes the values of credentials out of what comes back to an agent. */
export function createScrubs(): ScrubFor {
  return createScrubsOf((secret) => secret.reveal())
}
