import { useCallback } from 'react'
import { noOwnNames, withOwnName } from '@flotilla/protocol/own-names'
import type { OwnNameKind, OwnNames } from '@flotilla/protocol/own-names'
import { useMesh, useServices } from './use-mesh.ts'

/**
 * Names that this person gave to things, kept in the mesh, so that other browsers show them: `[names, give]`, where an
 * empty name removes the entry.
 */
export function useOwnNames(
  kind: OwnNameKind,
): readonly [Readonly<Record<string, string>>, (key: string, name: string) => void] {
  const { client, queries, toasts } = useServices()
  const names = useMesh('ownNames').data ?? noOwnNames
  const give = useCallback(
    (key: string, name: string) => {
      const change = { kind, key, name }
      // The name is shown at once; the reply of the mesh replaces it.
      const show = (next: (was: OwnNames) => OwnNames) =>
        queries.setQueriesData<OwnNames>({ queryKey: ['ownNames'] }, (was) => next(was ?? noOwnNames))
      show((was) => withOwnName(was, change))
      client.call('ownNameChange', { body: change }).then(
        (reply) => show(() => reply),
        (error: unknown) => {
          toasts.fail(error)
          void queries.invalidateQueries({ queryKey: ['ownNames'] })
        },
      )
    },
    [client, queries, toasts, kind],
  )
  return [names[kind], give]
}
