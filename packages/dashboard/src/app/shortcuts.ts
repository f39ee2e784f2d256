import { menu } from './menu.ts'

/** How long `g` waits for the letter of a page, in milliseconds. */
const followsWithinMs = 1500

/** A pressed key, as far as shortcuts need it. */
export interface PressedKey {
  readonly key: string
  readonly at: number
  /** True if the key belongs to a field, a dialog or another program: then it is no shortcut. */
  readonly isTaken: boolean
}

export type Shortcut = { readonly kind: 'page'; readonly path: string } | { readonly kind: 'help' }

/** Recognizes shortcuts in a sequence of keys: `?`, and `g` followed by the letter of a page. */
export function createShortcuts(): (pressed: PressedKey) => Shortcut | null {
  let beganAt = Number.NEGATIVE_INFINITY
  return ({ key, at, isTaken }) => {
    const follows = at - beganAt <= followsWithinMs
    beganAt = Number.NEGATIVE_INFINITY
    if (isTaken) return null
    if (key === '?') return { kind: 'help' }
    const page = follows ? menu.find((one) => one.key === key) : undefined
    if (page) return { kind: 'page', path: page.path }
    if (key === 'g') beganAt = at
    return null
  }
}
