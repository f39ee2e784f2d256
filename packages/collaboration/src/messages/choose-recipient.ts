/** An agent that declares the capability, with its load. */
export interface Candidate {
  readonly agentId: string
  readonly busy: boolean
  /** Queued runs in its lane. */
  readonly queued: number
}

/**
 * Returns the id of the candidate with the least work; null without candidates. Ties go to the first
 * id, so that the same state of the fleet always gives the same result. Pure.
 */
export function chooseRecipient(candidates: readonly Candidate[]): string | null {
  const work = ({ busy, queued }: Candidate): number => queued + (busy ? 1 : 0)
  const [first] = candidates.toSorted(
    (a, b) => work(a) - work(b) || (a.agentId < b.agentId ? -1 : a.agentId > b.agentId ? 1 : 0),
  )
  return first?.agentId ?? null
}
