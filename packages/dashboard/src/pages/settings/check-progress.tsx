import { Failed } from '../../design/parts.tsx'

/** Shows that a provider or server is being checked with a call, or why it was not stored. */
export function CheckProgress({
  name,
  store,
}: {
  readonly name: string
  readonly store: { readonly error: Error | null; readonly isPending: boolean }
}) {
  return (
    <>
      {store.error !== null && <Failed error={store.error} />}
      {store.isPending && (
        <p className="muted" role="status">
          Testing {name} with a short question …
        </p>
      )}
    </>
  )
}
