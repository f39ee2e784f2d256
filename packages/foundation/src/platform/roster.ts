/** An unordered collection of the current members, for thousands of joins and leaves a second. */
export interface Roster<Member> {
  /** Adds a member and returns the function that removes it, which returns true at the first call only. */
  join(member: Member): () => boolean
  size(): number
  /** A snapshot; later joins and leaves do not change it. */
  members(): readonly Member[]
}

/**
 * Avoids `Set` and `Map`, which keep removed members in memory: the engine links each outgrown hash table to its
 * successor. Once one of these tables is in the old generation, every later one survives minor collections with all
 * its former members. Thus every model call with its whole request was kept until the next major collection, and
 * those became ten times as frequent.
 */
export function createRoster<Member>(): Roster<Member> {
  const places: { readonly member: Member; at: number }[] = []

  return {
    size: () => places.length,
    members: () => places.map(({ member }) => member),
    join(member) {
      const place = { member, at: places.length }
      places.push(place)
      return () => {
        if (places[place.at] !== place) return false
        const last = places.pop()
        if (last !== undefined && last !== place) {
          last.at = place.at
          places[last.at] = last
        }
        place.at = -1
        return true
      }
    },
  }
}
