import * as z from 'zod'

/** Returns a text cut to `maxChars` UTF-16 code units, without splitting a surrogate pair. Pure. */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const last = text.charCodeAt(maxChars - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars)
}

/** Returns the schema of a platform's text. Longer text is cut, missing text is empty. */
export function wireText(maxChars: number) {
  return z
    .string()
    .nullish()
    .transform((text) => cutText(text ?? '', maxChars))
}

/** Returns the schema of a platform's list. Unreadable items and items above the limit are dropped. */
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
