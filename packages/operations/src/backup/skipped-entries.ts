import * as z from 'zod'

/** The maximum number of skipped entries that are listed by name; further ones are only counted. */
const namedMax = 10
/** How many entries are listed for one reason, so that many of one kind do not hide the others. */
const namedOfReasonMax = 3
const textMaxChars = 400

export const skippedSchema = z.strictObject({
  count: z.int().min(0),
  /** The first of each reason: a name for people, and why it was skipped. */
  first: z
    .array(z.strictObject({ name: z.string().max(textMaxChars), why: z.string().max(textMaxChars) }))
    .max(namedMax),
})
/** Entries of the source that a backup does not contain. */
export type Skipped = z.infer<typeof skippedSchema>

export const nothingSkipped: Skipped = { count: 0, first: [] }

export interface SkippedList {
  add(name: string, why: string): void
  list(): Skipped
}

/** Pure. */
export function joinSkipped(one: Skipped, other: Skipped): Skipped {
  return { count: one.count + other.count, first: [...one.first, ...other.first].slice(0, namedMax) }
}

export function createSkippedList(): SkippedList {
  const first: { name: string; why: string }[] = []
  let count = 0
  return {
    add: (name, why) => {
      count += 1
      const sameReason = first.filter((one) => one.why === why).length
      if (first.length < namedMax && sameReason < namedOfReasonMax)
        first.push({ name: name.slice(0, textMaxChars), why: why.slice(0, textMaxChars) })
    },
    list: () => ({ count, first: [...first] }),
  }
}
