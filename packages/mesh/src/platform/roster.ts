/** An unordered collection of the current members, for thousands of joins and leaves a second. */
export interface Roster<Member> {
  /** Returns the way to leave, which is true the first time. */
  join(member: Member): () => boolean
  size(): number
  /** A snapshot; later joins and leaves do not change it. */
  members(): readonly Member[]
}

/**
 * A `Set` or `Map` would keep far more than its members. The engine links each table that such a collection outgrew to the
 * next; once one of them lies in old memory, every later one survives the small collections with all that was in it when it
 * was outgrown. So a model call, with the whole of its request, was kept until the next full collection, and there were ten
 * times as many of those. What leaves from here is kept by nothing.
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
