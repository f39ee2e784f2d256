import { createScrubs as createScrubsOf } from '@flotilla/protocol/secret-text/scrub'
import type { ScrubFor as ScrubOf } from '@flotilla/protocol/secret-text/scrub'
import type { Secret } from './secret.ts'

export type { Scrub } from '@flotilla/protocol/secret-text/scrub'
export type ScrubFor = ScrubOf<Secret>

/** Removes the values of credentials from answers to agents. */
export function createScrubs(): ScrubFor {
  return createScrubsOf((secret) => secret.reveal())
}
