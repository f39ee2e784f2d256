/** What a file was like when it was looked at. Times are milliseconds since 1970. */
export interface FileStat {
  readonly modifiedMs: number
  readonly changedMs: number
  readonly sizeBytes: number
  readonly inode: number
}

export type FileChange = 'added' | 'modified'

/** A change that waits to be fired. */
export interface NoticedChange {
  /** As the disk has it, one character for each byte. */
  readonly name: string
  readonly change: FileChange
  readonly stat: FileStat
  /** When it was first seen, milliseconds since 1970. */
  readonly noticedAt: number
}

/**
 * What one watch remembers of its files: some hundred bytes for each, so that a million of them is a matter of 150 MB
 * and not of a gigabyte. Names are as the disk has them, byte for byte.
 *
 * A file is quiet, or has a change that waits. A change waits until two scans in a row see the same file or it has waited
 * long, and then until it was fired; however often the file changes meanwhile, it is one change.
 */
export interface SeenFiles {
  /** How many are remembered. */
  readonly size: number
  has(name: string): boolean
  /** How many have a change that waits. */
  readonly waiting: number
  /** Begins a round of scans at a moment; files that it does not meet are forgotten by `endRound`. */
  beginRound(now: number): void
  /**
   * One stat of one file. `silent` takes a new file as it is. Says what waits, since when, and whether it was noticed
   * just now; `isStill` when this scan and the one before it saw the same.
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
  /** The change was fired, or nobody wants it: the file is quiet as it is now. */
  quiet(name: string): void
  /** A change that was noticed in an earlier life of the mesh, as it was then; before the first round. */
  recall(change: NoticedChange): void
  /** Names of files with a change that waits which this round has not met; all that it has not met are forgotten. */
  endRound(): readonly string[]
}

const quietState = 0
const addedState = 1
const modifiedState = 2
const columns = 5

export function createSeenFiles(): SeenFiles {
  /** Place of each file in the columns. */
  const places = new Map<string, number>()
  /** Places that were given up. */
  const free: number[] = []
  let numbers = new Float64Array(0)
  let states = new Uint8Array(0)
  /** 1 once this round has met the file. */
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

  /** Keeps the stat; false where the file is another than at the scan before. */
  function keep(place: number, found: FileStat): boolean {
    const at = place * columns
    const same =
      numbers[at] === found.modifiedMs &&
      numbers[at + 1] === found.sizeBytes &&
      // Some mounts make inode numbers up at every scan, and rights change a file's time: one alone says nothing.
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

  /** A clock that was set back makes no change wait longer. */
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
