import * as z from 'zod'

/** A text of at most so many UTF-16 code units, never ending in half a character. Pure. */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const last = text.charCodeAt(maxChars - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars)
}

/** Text of a platform's wire: what is longer is cut, what is absent is empty. */
export function wireText(maxChars: number) {
  return z
    .string()
    .nullish()
    .transform((text) => cutText(text ?? '', maxChars))
}

/** A list of a platform's wire: what cannot be read is left out, what is over the bound too. */
export function wireList<T extends z.ZodType>(item: T, max: number) {
  return z
    .array(z.unknown())
    .nullish()
    .transform((items) =>
      (items ?? []).slice(0, max).flatMap((one): z.output<T>[] => {
        const read = item.safeParse(one)
        return read.success ? [read.data] : []
      }),
    )
}
