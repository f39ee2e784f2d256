/** The current meaning of Ctrl-C: handled by the newest listener, else it ends the command. */
export interface Interrupts {
  /** Aborts if no listener handles an interrupt, or at the second interrupt during the same listener. */
  readonly signal: AbortSignal
  /** Must be called for each signal that interrupts the process: SIGINT (Ctrl-C), SIGTERM and SIGHUP. */
  readonly interrupt: () => void
  readonly onInterrupt: (listener: () => void) => () => void
}

/** One Ctrl-C arrives several times: from the terminal, and from each program (npx, npm) that passes it on. */
const sameKeystrokeMs = 300

export function createInterrupts(now: () => number): Interrupts {
  const all = new AbortController()
  let lastAt = Number.NEGATIVE_INFINITY
  const listeners: { readonly run: () => void; told: boolean }[] = []
  return {
    signal: all.signal,
    interrupt() {
      const isSame = now() - lastAt < sameKeystrokeMs
      lastAt = now()
      if (isSame) return
      const top = listeners.at(-1)
      if (top === undefined || top.told) return all.abort(new Error('interrupted'))
      top.told = true
      top.run()
    },
    onInterrupt(run) {
      const entry = { run, told: false }
      listeners.push(entry)
      return () => {
        const at = listeners.indexOf(entry)
        if (at !== -1) listeners.splice(at, 1)
      }
    },
  }
}
