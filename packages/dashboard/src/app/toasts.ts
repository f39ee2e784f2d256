import { Problem } from '@flotilla/protocol/problem'

export interface Toast {
  readonly id: number
  readonly tone: 'ok' | 'bad'
  readonly title: string
  /** What to do now. */
  readonly repair?: string | undefined
}

/** Short messages over the page; the last few stay until they are put away or time has passed. */
export interface ToastStore {
  list(): readonly Toast[]
  subscribe(listener: () => void): () => void
  tell(title: string): void
  /** An error in the words of the mesh, with its repair. */
  fail(error: unknown): void
  close(id: number): void
}

const shownMax = 4
const shownMs = { ok: 4000, bad: 12_000 } as const

export function createToastStore(): ToastStore {
  const listeners = new Set<() => void>()
  let toasts: readonly Toast[] = []
  let lastId = 0

  function set(next: readonly Toast[]): void {
    toasts = next.slice(-shownMax)
    for (const listener of listeners) listener()
  }

  function show(toast: Omit<Toast, 'id'>): void {
    lastId += 1
    const id = lastId
    set([...toasts, { ...toast, id }])
    setTimeout(() => close(id), shownMs[toast.tone])
  }

  function close(id: number): void {
    set(toasts.filter((toast) => toast.id !== id))
  }

  return {
    close,
    list: () => toasts,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    tell: (title) => show({ tone: 'ok', title }),
    fail: (error) => show({ tone: 'bad', ...wordsOf(error) }),
  }
}

/** An error as a person reads it. */
export function wordsOf(error: unknown): { readonly title: string; readonly repair?: string } {
  if (error instanceof Problem) return { title: error.detail, repair: error.repair }
  return { title: error instanceof Error ? error.message : 'Something failed.' }
}
