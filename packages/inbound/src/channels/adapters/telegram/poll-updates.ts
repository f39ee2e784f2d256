import type { Clock } from '@flotilla/protocol/clock'
import { backoffMs } from '@flotilla/protocol/backoff'
import type { Api } from 'grammy'
import type { Update } from 'grammy/types'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelListener, ChannelState } from '../../adapter.ts'
import { telegramCode, telegramFailure } from './telegram-failure.ts'

/** How long Telegram lets a poll without updates wait, in seconds. */
const pollSeconds = 30
const updatesPerPoll = 50
/** The pause after a poll that returned at once without updates, in milliseconds. */
const emptyPollPauseMs = 200
/** The delay between attempts, in milliseconds. It doubles from `firstMs` up to `maxMs`. */
export const pollBackoff = { firstMs: 500, maxMs: 30_000 } as const

/** grammY's type of an abort signal; any signal fits. */
export type GrammySignal = Parameters<Api['getUpdates']>[1]

export interface PollDeps {
  readonly api: Api
  readonly clock: Clock
  readonly listener: ChannelListener
  /** Resolves when the update's message is persisted. Telegram may then delete the update. */
  readonly take: (update: Update) => Promise<void>
}

/**
 * Receives updates until `signal` aborts.
 *
 * 1. The offset moves past an update only after `take` resolved, so that unpersisted updates are requested again.
 * 2. The first poll returns at once. It ends a poll that a previous process left open at Telegram.
 * 3. Conflicts with another poll, rate limits and network errors are retried. A rejected token ends the loop.
 */
export async function pollUpdates(deps: PollDeps, signal: AbortSignal): Promise<void> {
  const { api, clock, listener, take } = deps
  let offset = 0
  let failures = 0
  let isFirst = true
  while (!signal.aborted) {
    const begun = clock.now()
    try {
      const updates = await api.getUpdates(
        {
          ...(offset === 0 ? {} : { offset }),
          limit: updatesPerPoll,
          timeout: isFirst ? 0 : pollSeconds,
          allowed_updates: ['message', 'callback_query'],
        },
        signal as GrammySignal,
      )
      if (failures > 0 || isFirst) listener.stateChanged(connected)
      isFirst = false
      for (const update of updates) {
        await take(update)
        offset = update.update_id + 1
      }
      failures = 0
      if (updates.length === 0 && clock.now() - begun < emptyPollPauseMs) {
        await clock.sleep(emptyPollPauseMs, signal)
      }
    } catch (error) {
      if (signal.aborted) return
      const outcome = stateAfter(error)
      listener.stateChanged(outcome.state)
      if (outcome.state.state === 'refused') return
      failures += 1
      await clock.sleep(outcome.waitMs ?? backoffMs(pollBackoff, failures), signal).catch(() => {})
    }
  }
}

const connected: ChannelState = { state: 'connected', detail: '', repair: '' }

/** Returns the state that people see after an error, and the wait that Telegram asks for, in milliseconds. Pure. */
export function stateAfter(error: unknown): { readonly state: ChannelState; readonly waitMs: number | null } {
  const code = telegramCode(error)
  if (code === 401 || code === 404) return { state: refused, waitMs: null }
  if (code === 409) return { state: conflict, waitMs: null }
  if (code === 0 && !(error instanceof ChannelFailure) && !isCallFailure(error)) {
    return {
      state: {
        state: 'failing',
        detail: 'a message could not be stored',
        repair: 'Run `flotilla doctor`. Telegram sends the message again.',
      },
      waitMs: null,
    }
  }
  const failure = telegramFailure(error)
  const repair =
    failure.kind === 'unreachable'
      ? 'Check the network connection of this machine. The mesh retries automatically.'
      : ''
  return { state: { state: 'failing', detail: failure.message, repair }, waitMs: failure.retryAfterMs }
}

function isCallFailure(error: unknown): boolean {
  return error instanceof Error && (error.name === 'HttpError' || error.name === 'GrammyError')
}

export const refused: ChannelState = {
  state: 'refused',
  detail: 'Telegram does not accept the token',
  repair: 'Get a new one from @BotFather with /token, and set it: flotilla channels add telegram',
}

const conflict: ChannelState = {
  state: 'failing',
  detail: 'another program receives the messages of the same bot',
  repair: 'Stop the other program, or give it a separate bot. The mesh retries automatically.',
}
