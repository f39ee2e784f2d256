import { Problem } from '@flotilla/protocol/problem'

/** The maximum number of handles in a request, far above real use. It bounds the size of a filled body. */
export const handlesMax = 64

const handle = /\$CRED\{([A-Za-z0-9][A-Za-z0-9_]{0,127})\}/g
const opening = '$CRED{'

/** Returns the name behind a handle as the vault stores it, because names ignore case. */
export function canonicalName(name: string): string {
  return name.toLowerCase()
}

/** Returns the handle with which an agent names a credential. */
export function handleFor(name: string): string {
  return `${opening}${canonicalName(name)}}`
}

/**
 * Returns names of the handles in a text, once for each occurrence. Throws the Problem `bad-request` for a malformed
 * handle, such as one within another, so that nothing is sent half filled. Pure.
 */
export function handleNames(text: string): readonly string[] {
  const names: string[] = []
  for (const found of text.matchAll(handle)) names.push(canonicalName(found[1] ?? ''))
  if (text.split(opening).length - 1 !== names.length) {
    throw new Problem('bad-request', {
      detail:
        'a credential must be written as $CRED{name}, with letters, digits and _ in the name and no $CRED{...} inside another',
    })
  }
  return names
}

/** Replaces all handles in one pass, so that a value which looks like a handle is not replaced again. Pure. */
export function replaceHandles(text: string, replacement: (name: string) => string): string {
  return text.replace(handle, (_whole, name: string) => replacement(canonicalName(name)))
}
