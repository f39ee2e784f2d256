import { useSearchParams } from 'wouter'

/** A choice on a page, stored in its address so that the link can be shared. */
export function useChoice<const Name extends string>(
  names: readonly Name[],
): readonly [Readonly<Record<Name, string>>, (name: Name, value: string) => void] {
  const [search, setSearch] = useSearchParams()
  const chosen = Object.fromEntries(names.map((name) => [name, search.get(name) ?? ''])) as Record<
    Name,
    string
  > // one for each of the names
  const choose = (name: Name, value: string): void =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  return [chosen, choose]
}
