export interface OwnedEvent {
  readonly seq: number
  /** The agent that the event is about; empty for events of the fleet. */
  readonly owner: string
}

/**
 * Chooses which events are deleted so that `keep` remain: the oldest ones of the agents with the most events. An agent
 * with fewer events than its equal share loses none, so that one busy agent does not push out the events of others.
 * `events` are sorted by number. Pure.
 */
export function chooseDropped(events: readonly OwnedEvent[], keep: number): readonly number[] {
  const counts = new Map<string, number>()
  for (const { owner } of events) counts.set(owner, (counts.get(owner) ?? 0) + 1)
  const share = equalShare([...counts.values()], keep)
  let excess = events.length - keep
  return events.flatMap(({ seq, owner }) => {
    const left = counts.get(owner) ?? 0
    if (excess <= 0 || left <= share) return []
    counts.set(owner, left - 1)
    excess -= 1
    return [seq]
  })
}

/** Returns the highest number of events that each owner can keep if all together keep at most `keep`. Pure. */
function equalShare(counts: readonly number[], keep: number): number {
  let room = keep
  const rising = counts.toSorted((a, b) => a - b)
  for (const [at, count] of rising.entries()) {
    const share = Math.floor(room / (rising.length - at))
    if (count > share) return share
    room -= count
  }
  return keep
}
