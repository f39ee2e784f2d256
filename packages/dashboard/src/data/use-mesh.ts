import { useMutation, useQuery } from '@tanstack/react-query'
import type { keepPreviousData } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import { createContext, use, useSyncExternalStore } from 'react'
import type { CallParts, Reply } from '@flotilla/client/mesh-call'
import type { PeopleEndpointName } from '@flotilla/client/people-api'
import { Problem } from '@flotilla/protocol/problem'
import type { Services } from '../app/services.ts'
import type { LiveState } from '../live/live-store.ts'
import { refusalOf } from './refusal.ts'
import type { Deed } from './refusal.ts'
import { withProof } from './with-proof.ts'

export const ServicesContext = createContext<Services | null>(null)

export function useServices(): Services {
  const services = use(ServicesContext)
  if (!services) throw new Error('pages are drawn inside the app')
  return services
}

export interface MeshQuery {
  readonly enabled?: boolean
  readonly staleTime?: number
  /** How long an answer that no page shows is cached, in milliseconds. */
  readonly gcTime?: number
  /** The polling interval for data without events, while the page is visible. */
  readonly refetchInterval?:
    | number
    | false
    | ((query: { readonly state: { readonly data: unknown } }) => number | false)
  /** `keepPreviousData`: the previous answer stays visible until the next one has arrived. */
  readonly placeholderData?: typeof keepPreviousData
}

/** Requests and caches an answer of the mesh; events that make the answer outdated cause a new request. */
export function useMesh<N extends PeopleEndpointName>(
  name: N,
  parts: CallParts<N> = {},
  query: MeshQuery = {},
): UseQueryResult<Reply<N>> {
  const { client } = useServices()
  return useQuery<Reply<N>>({
    queryKey: [name, parts.params ?? null, parts.query ?? null],
    queryFn: ({ signal }) => client.call(name, { ...parts, signal }),
    ...query,
  })
}

/** Returns why the user may not make this call, or null if they may. The mesh decides in any case. */
export function useRefusal(deed: Deed): string | null {
  const isGone = useGoneSince() !== null
  const refusal = refusalOf(useMesh('me').data, deed)
  return isGone ? 'The mesh does not answer, so nothing can be changed now.' : refusal
}

export interface Undoing {
  /** The call that undoes the change. */
  readonly by: PeopleEndpointName
  readonly run: () => Promise<unknown>
  readonly done: string
}

/**
 * Returns the mutation for a call that changes something. Errors appear above the page, unless the form shows them.
 * `done` is the message after success, or returns it; null for no message.
 */
export function useAction<N extends PeopleEndpointName>(
  name: N,
  options: {
    readonly done?: string | ((reply: Reply<N>) => string | null)
    /** Throws an error that says why the reply of a call that succeeded does not mean what `done` says. */
    readonly requireDone?: (reply: Reply<N>) => void
    /** True if the form shows the error beside its fields, so no message above the page repeats it. */
    readonly failsInPlace?: boolean
    readonly stale?: readonly PeopleEndpointName[]
    /** Returns the call that undoes the change, and the message after undoing. */
    readonly undo?: (reply: Reply<N>, parts: CallParts<N>) => Undoing
  } = {},
) {
  const { client, queries, toasts, proofs } = useServices()
  const makeStale = (): void => {
    for (const stale of options.stale ?? []) void queries.invalidateQueries({ queryKey: [stale] })
  }
  return useMutation({
    mutationFn: async (parts: CallParts<N>) => {
      const reply = await withProof(proofs, name, () => client.call(name, parts))
      options.requireDone?.(reply)
      return reply
    },
    onSuccess: (reply, parts) => {
      const doneText = typeof options.done === 'function' ? options.done(reply) : options.done
      const done = [...(doneText ? [doneText] : []), ...noticesOf(reply)].join(' ')
      if (done === '') return
      const undoing = options.undo?.(reply, parts)
      const undo = async (): Promise<string> => {
        if (undoing) await withProof(proofs, undoing.by, undoing.run)
        makeStale()
        return undoing?.done ?? ''
      }
      toasts.tell(done, undoing && undo)
    },
    onError: (error) => {
      if (options.failsInPlace !== true) toasts.fail(error)
      // Loads the user's role again, which may have changed since the page loaded it.
      if (error instanceof Problem && error.code === 'denied')
        void queries.invalidateQueries({ queryKey: ['me'] })
    },
    onSettled: makeStale,
  })
}

/** Returns since when the mesh does not answer; null while it does. */
export function useGoneSince(): number | null {
  const { watch } = useServices()
  return useSyncExternalStore(watch.subscribe, watch.goneSince)
}

export function useLive(): LiveState {
  const { live } = useServices()
  return useSyncExternalStore(live.subscribe, live.read)
}

/** Returns the notices in a reply to a settings change: values that were stored and have no effect. */
function noticesOf(reply: unknown): readonly string[] {
  if (typeof reply !== 'object' || reply === null || !('notices' in reply)) return []
  const { notices } = reply
  return Array.isArray(notices) ? notices.map((notice) => `Note: ${String(notice)}.`) : []
}
