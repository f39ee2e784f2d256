import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { backoffMs } from '@flotilla/protocol/backoff'
import type { Log } from '@flotilla/foundation/platform'
import type {
  CallbackReply,
  CallbackRequest,
  ChannelAdapter,
  ChannelListener,
  ChannelState,
} from './adapter.ts'
import { ChannelFailure } from './adapter.ts'
import { connectBackoff } from './channel-limits.ts'

/** The connection of one channel while the mesh runs. */
export interface ChannelLife {
  readonly name: ChannelAdapter['name']
  state(): ChannelState
  /** Resolves once the platform has accepted or rejected the connection. */
  readonly answered: Promise<void>
  /** Handles webhook calls; null if the platform sends no webhook calls or the channel could not be created. */
  readonly receiveRequest: ((request: CallbackRequest) => Promise<CallbackReply>) | null
  /** Connects, and retries after temporary errors. Then runs `work` until the signal aborts. */
  run(
    work: (adapter: ChannelAdapter, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>
  /** Closes the connection. After `close` resolves, no more messages arrive. */
  close(): Promise<void>
}

export async function createChannelLife(deps: {
  readonly name: ChannelAdapter['name']
  /** Creates the adapter. Rejects with the Problem `not-configured`. */
  readonly create: () => ChannelAdapter | Promise<ChannelAdapter>
  readonly received: ChannelListener['received']
  readonly passedOver: ChannelListener['passedOver']
  readonly moved: NonNullable<ChannelListener['moved']>
  readonly identityChanged: NonNullable<ChannelListener['identityChanged']>
  readonly howTo: string
  readonly clock: Clock
  readonly log: Log
}): Promise<ChannelLife> {
  const { name, clock, log, received, passedOver, moved, identityChanged } = deps
  let state: ChannelState = { state: 'connecting', detail: '', repair: '' }
  const { promise: answered, resolve: hasAnswered } = Promise.withResolvers<void>()

  function become(next: ChannelState): void {
    if (next.state !== 'connecting') hasAnswered()
    if (next.state === state.state && next.detail === state.detail) return
    state = next
    const { state: now, detail } = next
    if (now === 'failing' || now === 'refused')
      log.warn(
        { channel: name, state: now, detail },
        'a channel is not connected; failing channels are retried, refused ones are not',
      )
    else log.info({ channel: name, state: now }, 'the connection of a channel changed its state')
  }

  const adapter = await createOrTell(deps, become)

  /** Connects the adapter. Resolves with true once it is connected, with false if a retry does not help. */
  async function connect(to: ChannelAdapter, signal: AbortSignal): Promise<boolean> {
    for (let attempts = 0; !signal.aborted; attempts++) {
      try {
        await to.start({ received, passedOver, moved, identityChanged, stateChanged: become })
        return true
      } catch (error) {
        const detail = error instanceof Error ? error.message : 'the platform does not answer'
        if (error instanceof ChannelFailure && error.kind === 'refused') {
          become({ state: 'refused', detail, repair: deps.howTo })
          return false
        }
        become({ state: 'failing', detail, repair: 'The mesh retries automatically.' })
        log.debug({ channel: name, err: error }, 'failed to connect a channel; retrying after a delay')
      }
      await clock.sleep(backoffMs(connectBackoff, attempts + 1), signal).catch(() => {})
    }
    return false
  }

  return {
    name,
    state: () => state,
    answered,
    receiveRequest: adapter?.receiveRequest ?? null,
    run: async (work, signal) => {
      if (adapter && (await connect(adapter, signal))) await work(adapter, signal)
    },
    close: async () => adapter?.close(),
  }
}

async function createOrTell(
  deps: { readonly create: () => ChannelAdapter | Promise<ChannelAdapter>; readonly howTo: string },
  become: (state: ChannelState) => void,
): Promise<ChannelAdapter | null> {
  try {
    return await deps.create()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    become({ state: 'refused', detail: error.detail, repair: deps.howTo })
    return null
  }
}
