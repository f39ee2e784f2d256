import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { followKept, keepText, readKept } from './kept-text.ts'

/**
 * Names that a person gave to things, kept in this browser: `[names, name]`, where an empty name removes the entry and
 * only the newest `max` stay.
 */
export function useKeptNames(
  place: string,
  max: number,
): readonly [Readonly<Record<string, string>>, (key: string, name: string) => void] {
  const text = useSyncExternalStore(followKept, () => readKept(place))
  const names = useMemo(() => namesIn(text), [text])
  const give = useCallback(
    (key: string, name: string) =>
      keepText(place, JSON.stringify(withName(namesIn(readKept(place)), { key, name, max }))),
    [place, max],
  )
  return [names, give]
}

/** Parses kept names; anything else is no name. Pure. */
export function namesIn(text: string): Readonly<Record<string, string>> {
  try {
    const read: unknown = JSON.parse(text)
    const entries = typeof read === 'object' && read !== null ? Object.entries(read) : []
    return Object.fromEntries(entries.filter(([, name]) => typeof name === 'string'))
  } catch {
    return {}
  }
}

/** Returns the names with another one, which is the newest. Pure. */
export function withName(
  names: Readonly<Record<string, string>>,
  { key, name, max }: { readonly key: string; readonly name: string; readonly max: number },
): Readonly<Record<string, string>> {
  const others = Object.entries(names).filter(([one]) => one !== key)
  const all = name.trim() === '' ? others : [...others, [key, name.trim()] as const]
  return Object.fromEntries(all.slice(-max))
}
