import { ChannelFailure } from '../../adapter.ts'
import type { ChannelFailureKind } from '../../adapter.ts'
import { failureOfCall, rateLimited, waitWithoutWordMs } from '../call-failure.ts'

/** The failure kinds of Slack error names. Any other name means `refused`. */
const kinds: Readonly<Record<string, ChannelFailureKind>> = {
  channel_not_found: 'gone',
  is_archived: 'gone',
  not_in_channel: 'gone',
  user_not_found: 'gone',
  user_disabled: 'gone',
  thread_not_found: 'gone',
  message_not_found: 'gone',
  cant_update_message: 'gone',
  restricted_action: 'gone',
  restricted_action_read_only_channel: 'gone',
  cannot_dm_bot: 'gone',
  file_deleted: 'gone',
  file_not_found: 'gone',
  msg_too_long: 'too-large',
  msg_blocks_too_long: 'too-large',
  file_upload_size_restricted: 'too-large',
  // Slack documents that part of the operation may have happened before it returned these errors.
  fatal_error: 'unsure',
  internal_error: 'unsure',
  request_timeout: 'unsure',
  service_unavailable: 'unsure',
}

/** Errors that concern the token and not the single call. */
const tokenErrors = new Set([
  'invalid_auth',
  'not_authed',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'not_allowed_token_type',
  'user_removed_from_team',
  'team_disabled',
])

/** True if Slack rejects the token. Pure. */
export function isTokenRefused(error: unknown): boolean {
  return tokenErrors.has(slackError(error))
}

/** Returns the failure for an error of `@slack/web-api`, with Slack's error name and none of the sent data. Pure. */
export function slackFailure(error: unknown): ChannelFailure {
  if (error instanceof ChannelFailure) return error
  const code = slackError(error)
  if (code !== '') {
    if (code === 'ratelimited' || code === 'rate_limited') return rateLimited('Slack', waitWithoutWordMs)
    return new ChannelFailure(kinds[code] ?? 'refused', `Slack rejected the call (${code})`)
  }
  if (hasNumber(error, 'retryAfter')) return rateLimited('Slack', error.retryAfter * 1000)
  if (hasNumber(error, 'statusCode')) {
    return new ChannelFailure(
      error.statusCode >= 500 ? 'unsure' : 'refused',
      `Slack answered with ${error.statusCode}`,
    )
  }
  return failureOfCall(error, 'Slack')
}

function slackError(error: unknown): string {
  if (!(error instanceof Error) || !('data' in error)) return ''
  const { data } = error
  if (typeof data !== 'object' || data === null || !('error' in data)) return ''
  return typeof data.error === 'string' && /^[a-z_]{1,64}$/.test(data.error) ? data.error : 'unknown_error'
}

function hasNumber<K extends string>(error: unknown, key: K): error is Error & Record<K, number> {
  return (
    error instanceof Error && key in error && typeof (error as Error & Record<K, unknown>)[key] === 'number'
  )
}
