import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import type { ChannelAdapter } from './adapter.ts'
import type { ChannelLife } from './channel-life.ts'

/** How long a channel that is switched off may take to finish its work, in milliseconds. */
const endMaxMs = 10_000

/** The channels that are on. A channel that is switched on while the mesh runs starts at once. */
export interface ChannelSwitch {
  find(name: ChannelName): ChannelLife | null
  names(): readonly ChannelName[]
  /** Switches a channel on; restarts a channel that is already on. */
  turnOn(name: ChannelName): Promise<void>
  /** Switches a channel off. After `turnOff` resolves, nothing is received or sent on the channel. */
  turnOff(name: ChannelName): Promise<void>
  /** Serves all channels until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

interface Running {
  readonly life: ChannelLife
  readonly ending: AbortController
  done: Promise<void>
}

export function createChannelSwitch(deps: {
  readonly create: (name: ChannelName) => Promise<ChannelLife>
  readonly serve: (adapter: ChannelAdapter, signal: AbortSignal) => Promise<void>
  readonly clock: Clock
}): ChannelSwitch {
  const on = new Map<ChannelName, Running>()
  let meshSignal: AbortSignal | null = null

  function begin(running: Running, signal: AbortSignal): void {
    running.done = running.life.run(deps.serve, AbortSignal.any([signal, running.ending.signal]))
    // `run` and `turnOff` await `done` and get its error. Until then this handler prevents an unhandled rejection.
    running.done.catch(() => {})
  }

  async function turnOff(name: ChannelName): Promise<void> {
    const running = on.get(name)
    if (!running) return
    on.delete(name)
    running.ending.abort()
    await running.life.close()
    await Promise.race([running.done, deps.clock.sleep(endMaxMs, new AbortController().signal)])
  }

  return {
    find: (name) => on.get(name)?.life ?? null,
    names: () => [...on.keys()],
    turnOff,
    turnOn: async (name) => {
      await turnOff(name)
      const life = await deps.create(name)
      const running = { life, ending: new AbortController(), done: Promise.resolve() }
      on.set(name, running)
      if (meshSignal !== null && !meshSignal.aborted) begin(running, meshSignal)
    },
    run: async (signal) => {
      meshSignal = signal
      for (const running of on.values()) begin(running, signal)
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
      await Promise.all([...on.values()].map(({ done }) => done))
    },
    close: async () => void (await Promise.all([...on.values()].map(({ life }) => life.close()))),
  }
}
