/** The metadata of a file at a scan. Times are milliseconds since 1970. */
export interface FileStat {
  readonly modifiedMs: number
  readonly changedMs: number
  readonly sizeBytes: number
  readonly inode: number
}

export type FileChange = 'added' | 'modified'

/** A change that waits to be fired. */
export interface NoticedChange {
  /** The raw name, one character per byte. */
  readonly name: string
  readonly change: FileChange
  readonly stat: FileStat
  /** When the change was first noticed, in milliseconds since 1970. */
  readonly noticedAt: number
}

/**
 * What one watch remembers of its files. Each file takes some hundred bytes, so a million files take 150 MB. Names
 * are raw bytes.
 *
 * A file is quiet or has a waiting change. A change waits until two consecutive scans see the same file or the change
 * has waited too long, and then until it was fired. Further changes of the file until then belong to the same change.
 */
export interface SeenFiles {
  /** The number of remembered files. */
  readonly size: number
  has(name: string): boolean
  /** The number of waiting changes. */
  readonly waiting: number
  /** Begins a round of scans. `endRound` forgets files that the round did not see. */
  beginRound(now: number): void
  /**
   * Records the stat of a file. With `silent`, a new file causes no change. Returns the waiting change, since
   * when it waits and whether it is new. `isStill` is true if this scan and the previous scan saw the same stat.
   */
  observe(
    name: string,
    found: FileStat,
    silent: boolean,
  ): {
    readonly waiting: FileChange | null
    readonly noticedAt: number
    readonly isNoticed: boolean
    readonly isStill: boolean
  }
  /** Marks a file as quiet in its current state, after its change was fired or rejected. */
  quiet(name: string): void
  /** Restores a change that a previous process noticed. Must be called before the first round. */
  recall(change: NoticedChange): void
  /** Forgets all files that this round did not see. Returns the names of forgotten files with a waiting change. */
  endRound(): readonly string[]
}

const quietState = 0
const addedState = 1
const modifiedState = 2
const columns = 5

export function createSeenFiles(): SeenFiles {
  /** The index of each file in the columns. */
  const places = new Map<string, number>()
  /** Indexes of the columns that no file uses. */
  const free: number[] = []
  let numbers = new Float64Array(0)
  let states = new Uint8Array(0)
  /** For each index: 1 if this round has seen the file, otherwise 0. */
  let met = new Uint8Array(0)
  let waiting = 0
  let metCount = 0
  let roundAt = 0

  function meet(place: number): void {
    if (met[place] === 0) metCount++
    met[place] = 1
  }

  function placeFor(name: string): number {
    const place = free.pop() ?? places.size
    places.set(name, place)
    if (place >= states.length) grow()
    return place
  }

  function grow(): void {
    const capacity = Math.max(64, states.length * 2)
    const next = { numbers: new Float64Array(capacity * columns), states: new Uint8Array(capacity) }
    next.numbers.set(numbers)
    next.states.set(states)
    const nextMet = new Uint8Array(capacity)
    nextMet.set(met)
    ;({ numbers, states } = next)
    met = nextMet
  }

  function setState(place: number, state: number): void {
    waiting += (state === quietState ? 0 : 1) - (states[place] === quietState ? 0 : 1)
    states[place] = state
  }

  /** Stores the stat and returns true if it equals the stat of the previous scan, or else false. */
  function keep(place: number, found: FileStat): boolean {
    const at = place * columns
    const same =
      numbers[at] === found.modifiedMs &&
      numbers[at + 1] === found.sizeBytes &&
      // Some mounts invent inode numbers at each scan, and a permission change alters ctime. Only a
      // difference of both indicates a change.
      (numbers[at + 2] === found.inode || numbers[at + 3] === found.changedMs)
    numbers[at] = found.modifiedMs
    numbers[at + 1] = found.sizeBytes
    numbers[at + 2] = found.inode
    numbers[at + 3] = found.changedMs
    return same
  }

  function noticeAt(place: number, at: number): void {
    numbers[place * columns + 4] = at
  }

  /** Returns when the change was noticed; if the clock was set back, the time of this round, so no wait grows. */
  function noticedAt(place: number): number {
    const at = Math.min(numbers[place * columns + 4] ?? roundAt, roundAt)
    noticeAt(place, at)
    return at
  }

  function add(name: string, found: FileStat, state: number): number {
    const place = placeFor(name)
    states[place] = quietState
    setState(place, state)
    keep(place, found)
    noticeAt(place, roundAt)
    return place
  }

  return {
    get size() {
      return places.size
    },
    has: (name) => places.has(name),
    get waiting() {
      return waiting
    },
    beginRound: (now) => {
      roundAt = now
      met.fill(0)
      metCount = 0
    },
    observe: (name, found, silent) => {
      const known = places.get(name)
      if (known === undefined) {
        meet(add(name, found, silent ? quietState : addedState))
        return { waiting: silent ? null : 'added', noticedAt: roundAt, isNoticed: !silent, isStill: false }
      }
      meet(known)
      const isStill = keep(known, found)
      const wasQuiet = states[known] === quietState
      if (wasQuiet && isStill) return { waiting: null, noticedAt: roundAt, isNoticed: false, isStill }
      if (wasQuiet) {
        setState(known, modifiedState)
        noticeAt(known, roundAt)
      }
      const waiting = states[known] === addedState ? 'added' : 'modified'
      return { waiting, noticedAt: noticedAt(known), isNoticed: wasQuiet, isStill }
    },
    quiet: (name) => {
      const place = places.get(name)
      if (place !== undefined) setState(place, quietState)
    },
    recall: ({ name, stat, change, noticedAt: at }) => {
      if (!places.has(name)) noticeAt(add(name, stat, change === 'added' ? addedState : modifiedState), at)
    },
    endRound: () => {
      const gone: string[] = []
      if (metCount === places.size) return gone
      for (const [name, place] of places) {
        if (met[place] === 1) continue
        if (states[place] !== quietState) gone.push(name)
        setState(place, quietState)
        places.delete(name)
        free.push(place)
      }
      return gone
    },
  }
}
