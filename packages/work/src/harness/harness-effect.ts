import { createHash } from 'node:crypto'
import type { EffectDetails } from '@flotilla/identity/policy'

/** What a harness states about a call. */
export interface StatedCall {
  readonly tool: string
  readonly subject: string
  readonly input: string
  /** Whether the harness states more than `subject` and `input` show. */
  readonly is_cut: boolean
  /** SHA-256 of everything that the harness states, in hex. The agent computes it, so `subject` and `input` count too. */
  readonly sha256: string
  /** Whether the harness names the kind of the call. */
  readonly names_kind: boolean
}

/**
 * Returns the effect of a call of a harness. A call that is shown in part, or whose kind the harness does not name, is
 * hidden: the owner cannot allow always what was not seen. Pure.
 */
export function harnessEffect({ tool, subject, input, sha256, ...stated }: StatedCall): EffectDetails {
  const isKnown = !stated.is_cut && stated.names_kind && sha256 !== ''
  const text = JSON.stringify([subject, input, sha256])
  return { tool, call: isKnown ? createHash('sha256').update(text).digest('hex') : null }
}
