/** An agent that says it can, as the choice sees it. */
export interface Candidate {
  readonly agentId: string
  readonly busy: boolean
  /** Runs that wait in its lane. */
  readonly queued: number
}

/**
 * Who of those that can gets a message: the one that has least to do, and of several the first by id, so that the same
 * state of the fleet always gives the same answer. Pure.
 */
export function chooseRecipient(candidates: readonly Candidate[]): string | null {
  const work = ({ busy, queued }: Candidate): number => queued + (busy ? 1 : 0)
  const [first] = candidates.toSorted(
    (a, b) => work(a) - work(b) || (a.agentId < b.agentId ? -1 : a.agentId > b.agentId ? 1 : 0),
  )
  return first?.agentId ?? null
}
