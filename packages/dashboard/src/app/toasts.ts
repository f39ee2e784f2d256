import { Problem } from '@flotilla/protocol/problem'
import { repairHere } from './repair-here.ts'

export type Undo = () => Promise<string | null>

export interface Toast {
  readonly id: number
  readonly tone: 'ok' | 'bad'
  readonly title: string
  /** What the person can do now. */
  readonly repair?: string | undefined
  /** The code of the problem, for the page that repairs it. */
  readonly code?: string | undefined
  /** Undoes the reported change; resolves to the message that is shown afterwards, or to null for none. */
  readonly undo?: Undo | undefined
}

/** Short messages above the page; the last few stay until they are closed or their time is over. */
export interface ToastStore {
  list(): readonly Toast[]
  subscribe(listener: () => void): () => void
  /** Shows a message; with `undo`, the message stays longer and offers to undo the change. */
  tell(title: string, undo?: Undo): void
  /** Undoes the change that a message reported, once, and shows the result. */
  undo(id: number): Promise<void>
  /** Shows an error with the mesh's detail, or with `title` in its place, and the repair. */
  fail(error: unknown, title?: string): void
  close(id: number): void
}

const shownMax = 4
const shownMs = { ok: 4000, bad: 12_000, undo: 15_000 } as const

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
    setTimeout(() => close(id), shownMs[toast.undo ? 'undo' : toast.tone])
  }

  function close(id: number): void {
    set(toasts.filter((toast) => toast.id !== id))
  }

  const tell = (title: string, undo?: Undo): void => show({ tone: 'ok', title, ...(undo ? { undo } : {}) })
  const fail = (error: unknown, title?: string): void =>
    show({ tone: 'bad', ...describeError(error), ...(title === undefined ? {} : { title }) })

  return {
    close,
    list: () => toasts,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    tell,
    fail,
    undo: async (id) => {
      const undo = toasts.find((toast) => toast.id === id)?.undo
      if (!undo) return
      close(id)
      try {
        const told = await undo()
        if (told !== null) tell(told)
      } catch (error) {
        fail(error)
      }
    },
  }
}

/** Converts an error to text for a person. */
export function describeError(error: unknown): {
  readonly title: string
  readonly repair?: string
  readonly code?: string
} {
  if (error instanceof Problem) return { title: error.detail, repair: repairHere(error), code: error.code }
  return { title: error instanceof Error ? error.message : 'Something failed.' }
}
