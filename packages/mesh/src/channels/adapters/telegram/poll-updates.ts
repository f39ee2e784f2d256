import type { Clock } from '@flotilla/protocol/clock'
import type { Api } from 'grammy'
import type { Update } from 'grammy/types'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelHearing, ChannelState } from '../../adapter.ts'
import { telegramCode, telegramFailure } from './telegram-failure.ts'

/** How long Telegram holds a poll open for want of news, seconds. */
const pollSeconds = 30
const updatesPerPoll = 50
/** A poll that comes back empty at once is not asked again before this, milliseconds. */
const emptyPollPauseMs = 200
/** Between two tries, doubled from the least up to the most, milliseconds. */
const backOffMs = { least: 500, most: 30_000 } as const

/** grammY's own type of a signal, which any is. */
export type GrammySignal = Parameters<Api['getUpdates']>[1]

export interface PollDeps {
  readonly api: Api
  readonly clock: Clock
  readonly hearing: ChannelHearing
  /** Resolves when what was said stands; then Telegram may forget it. */
  readonly take: (update: Update) => Promise<void>
}

/**
 * Hears until `signal` ends it.
 *
 * 1. The offset moves past an update only after `take` resolved: what could not be written is asked for again.
 * 2. The first poll waits for nothing: it ends a poll that an earlier process of ours left open at Telegram.
 * 3. A conflict with another poll, a limit and a broken line are waited out. A token that is not accepted ends it.
 */
export async function pollUpdates(deps: PollDeps, signal: AbortSignal): Promise<void> {
  const { api, clock, hearing, take } = deps
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
      if (failures > 0 || isFirst) hearing.stateChanged(connected)
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
      const told = stateAfter(error)
      hearing.stateChanged(told.state)
      if (told.state.state === 'refused') return
      failures += 1
      await clock.sleep(told.waitMs ?? backOff(failures), signal).catch(() => {})
    }
  }
}

/** How long to wait after so many failures in a row, milliseconds. Pure. */
export function backOff(failures: number): number {
  return Math.min(backOffMs.most, backOffMs.least * 2 ** Math.min(16, failures - 1))
}

const connected: ChannelState = { state: 'connected', detail: '', repair: '' }

/** What people read of it, and how long Telegram wants to be left alone. Pure. */
export function stateAfter(error: unknown): { readonly state: ChannelState; readonly waitMs: number | null } {
  const code = telegramCode(error)
  if (code === 401 || code === 404) return { state: refused, waitMs: null }
  if (code === 409) return { state: conflict, waitMs: null }
  if (code === 0 && !(error instanceof ChannelFailure) && !isCallFailure(error)) {
    return {
      state: {
        state: 'failing',
        detail: 'a message could not be written down',
        repair: 'Look at `flotilla doctor`; Telegram sends it again.',
      },
      waitMs: null,
    }
  }
  const failure = telegramFailure(error)
  const repair =
    failure.kind === 'unreachable' ? 'Look whether this machine reaches the network; it is tried again.' : ''
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
  detail: 'another program hears for the same bot',
  repair: 'End the other one, or give it a bot of its own; it is tried again.',
}
