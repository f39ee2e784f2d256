import { ChannelFailure } from '../../adapter.ts'
import type { ChannelFailureKind } from '../../adapter.ts'
import { failureOfCall, rateLimited } from '../call-failure.ts'

/** The failure kinds of Discord error codes that say more than the HTTP status. */
const kinds: Readonly<Record<number, ChannelFailureKind>> = {
  // Discord error: request entity too large.
  40005: 'too-large',
  // Discord error: cannot send messages to this user.
  50007: 'gone',
  // Discord errors: cannot execute action on this channel type; thread is archived; thread is locked.
  50024: 'gone',
  50083: 'gone',
  160005: 'gone',
}

/** True if Discord, or discord.js before the request, rejects the token. Pure. */
export function isTokenRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('status' in error && error.status === 401) return true
  return (
    ('code' in error && error.code === 'TokenInvalid') || error.message.startsWith('Expected token to be set')
  )
}

/** Returns the failure for an error of discord.js, with Discord's code and none of the sent data. Pure. */
export function discordFailure(error: unknown): ChannelFailure {
  if (error instanceof ChannelFailure) return error
  if (isTokenRefused(error)) return new ChannelFailure('refused', 'Discord does not accept the token')
  if (!(error instanceof Error)) return failureOfCall(error, 'Discord')
  if ('retryAfter' in error && typeof error.retryAfter === 'number') {
    return rateLimited('Discord', error.retryAfter)
  }
  if (!('status' in error) || typeof error.status !== 'number') return failureOfCall(error, 'Discord')
  const code = 'code' in error && typeof error.code === 'number' ? error.code : null
  const statusText = `${error.status}${code === null ? '' : `, code ${code}`}`
  return new ChannelFailure(
    kinds[code ?? 0] ?? kindOfStatus(error.status),
    `Discord rejected the call (${statusText})`,
  )
}

function kindOfStatus(status: number): ChannelFailureKind {
  if (status >= 500) return 'unsure'
  if (status === 413) return 'too-large'
  return status === 403 || status === 404 ? 'gone' : 'refused'
}
