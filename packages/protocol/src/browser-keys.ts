import * as z from 'zod/mini'

/**
 * One key, with modifier keys if wanted: `Enter`, `Control+A`, `Control++`. Selecting, copying and pasting are
 * therefore three actions, and the browser service empties the clipboard between them where it must.
 */
export const oneKeySchema = z
  .string()
  .check(
    z.minLength(1),
    z.maxLength(50),
    z.regex(
      /^(?:(?:Control|ControlOrMeta|Shift|Alt|AltGraph|Meta)(?:Left|Right)?\+)*(?:[^+]+|\+)$/,
      'one key, with modifier keys if wanted, such as Enter or Control+A',
    ),
  )
